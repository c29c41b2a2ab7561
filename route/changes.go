package route

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// HeaderChange is what a filter or a policy does to a header.
type HeaderChange uint8

// The changes of headers, of a request and of an answer.
const (
	SetInRequest HeaderChange = iota
	AddToRequest
	RemoveFromRequest
	SetInAnswer
	AddToAnswer
	RemoveFromAnswer
)

// ofAnswer reports whether the header is one of an answer.
func (c HeaderChange) ofAnswer() bool { return c >= SetInAnswer }

// UnsentHeader is a response header by which a sidecar says that it could not send the request to
// its workload. Calling sidecars repeat such a request on connect failures, for it cannot have had
// an effect; neither workloads nor applications see the header, or can set it.
const UnsentHeader = "x-weft-unsent"

// TagsHeader is a header that other meshes put on requests between sidecars; it
// does not reach a workload.
const TagsHeader = "x-kuma-tags"

// FixedHeader is a header that cannot be changed, and why: what Envoy 1.40 does
// when it is told to (measured).
type FixedHeader struct {
	Request, Answer string // why; empty: it can
}

const (
	breaks  = "it concerns one connection, and the next sidecar refuses a request that has it"
	nowhere = "it concerns one connection and does not arrive"
	writes  = "every sidecar writes its own"
)

// FixedHeaders are those headers, by name in lower case. The host and the
// pseudo headers are not among them, for those are no headers.
var FixedHeaders = fixedHeaders()

func fixedHeaders() map[string]FixedHeader {
	out := map[string]FixedHeader{
		"connection":        {breaks, nowhere},
		"keep-alive":        {breaks, nowhere},
		"proxy-connection":  {breaks, nowhere},
		"upgrade":           {breaks, nowhere},
		"transfer-encoding": {breaks, nowhere},
		"te":                {"the next sidecar refuses a request with another value than trailers", "the caller's sidecar refuses the answer"},
		"content-length":    {"it is the length of the body, which stays as it is", "it is the length of the body, which stays as it is"},
		"server":            {"", writes},
		"date":              {"", writes},
	}
	for _, name := range match.ControlHeaders {
		out[name] = FixedHeader{Request: "it would override MeshRetry and MeshTimeout unseen"}
	}
	return out
}

// Fixed says why a change of h is not possible; it is empty where it is. The
// name may be in any case.
func Fixed(change HeaderChange, h Header) string {
	name := strings.ToLower(h.Name)
	switch {
	case name == "te" && (change == RemoveFromRequest || change == SetInRequest && h.Value == "trailers"):
		return ""
	case change == RemoveFromRequest && strings.HasPrefix(name, "x-envoy-"):
		return "" // they are gone already
	case change.ofAnswer():
		return FixedHeaders[name].Answer
	}
	return FixedHeaders[name].Request
}

// CheckChangedHeader wants a header that filters and policies may change so: at
// is the place of its name. The value of one that is removed is empty.
func CheckChangedHeader(at api.Path, change HeaderChange, h Header) error {
	if h.Name == "host" {
		if change.ofAnswer() {
			return at.Breaks("host cannot be changed in an answer; remove it")
		}
		return at.Breaks("host cannot be changed as a header; use urlRewrite.hostname")
	}
	if err := CheckHeaderName(at, h.Name); err != nil {
		return err
	}
	if why := Fixed(change, h); why != "" {
		return at.Breaks("%s cannot be changed: %s; remove it", h.Name, why)
	}
	return nil
}
