// Package route is the one model of routes that every dialect is translated
// into. No document is decoded into it: each dialect has its own wire types, so
// that a field of the model is legal in no language before its dialect says so.
//
// It promises that what a dialect cannot express stays absent rather than empty.
// It knows no dialect, no policy and no Envoy.
package route

import "github.com/weftmesh/weft/api"

// Filter changes a request on its way, or the answer; exactly one field is set.
type Filter struct {
	RequestHeaders  *HeaderModifier
	ResponseHeaders *HeaderModifier
	Rewrite         *Rewrite
	Mirror          *Mirror
	ClientLimit     *ClientLimit
	Authorization   *Authorization
	CORS            *CORS         `json:",omitempty"`
	Delay           *api.Duration `json:",omitempty"` // see DelayOf
}

// ClientLimit is how many requests each client has in an interval, by each proxy and
// route: a client is who has the same values of the headers, which are in lower case.
// A request without one of them is not limited. A rule has one such filter, on a host.
type ClientLimit struct {
	Requests uint32
	Interval api.Duration
	Headers  []string
}

// MaxClients is how many clients of a route are told apart at a time; those that have
// not asked for longest are forgotten.
const MaxClients = 10_000

// ClientLimitOf is that among filters; nil where there is none.
func ClientLimitOf(filters []Filter) *ClientLimit {
	return first(filters, func(f *Filter) *ClientLimit { return f.ClientLimit })
}

// first is the first of a kind among filters; nil where there is none.
func first[T any](filters []Filter, of func(*Filter) *T) *T {
	for i := range filters {
		if f := of(&filters[i]); f != nil {
			return f
		}
	}
	return nil
}

// HeaderModifier is applied in the order set, fill, add, remove. To a header that a modifier
// fills, and adds no line by that, none before it adds lines.
type HeaderModifier struct {
	Set, Add []Header
	Fill     []Filled `json:",omitempty"`
	Remove   []string
}

// Header is a name in lower case and its value as the writer gave it: a percent
// sign is a percent sign.
type Header struct {
	Name  string `json:"name" schema:"required,is=headerName"`
	Value string `json:"value" schema:"is=header"`
}

// Rewrite changes what the backend sees.
type Rewrite struct {
	Hostname     string
	Path         *PathRewrite
	BackendsHost bool // hostToBackendHostname
	// HostHeader is the request header, in lower case, whose value becomes the host, as
	// it is after all changes of headers; where it is missing nothing is changed by this. It holds
	// over the hosts of single backends.
	HostHeader string
}

// PathRewrite replaces the full path, the prefix that the match names, or each part
// of it that an expression matches. Exactly one of these is set.
type PathRewrite struct {
	Full   *string
	Prefix *string
	Each   *Replacement
	// Literal says that Prefix stands for the bytes of a byte prefix, as written: no
	// slash is put between it and what follows, and none is taken away.
	Literal bool
}

// Mirror copies a share of the requests to another backend.
type Mirror struct {
	Backend BackendRef
	Percent float64 // 0..100
	// Host is the host that the copies are for; empty is that of the request with -shadow
	// behind it.
	Host string `json:",omitempty"`
}

// UnresolvedReason is why a ref leads nowhere: a reason in one word, and a message.
type UnresolvedReason struct{ Code, Message string }

// BackendRef names a backend and its weight.
type BackendRef struct {
	Target api.TargetRef // kind, name, namespace, labels, tags, sectionName
	// Outside is set where the rule names addresses: see ToOutside.
	Outside *Outside
	Home    api.Home // the namespace from which it is looked for
	Port    uint32   // 0 = not given
	Weight  uint32
	Field   api.Path // where it stands in the document
	// Unresolved is why it cannot be used whatever there is; nil where that depends on what
	// it leads to.
	Unresolved *UnresolvedReason
	// Speaks is how its port is spoken to where nobody wrote a protocol down; empty is
	// as a port of TCP, to which no request can be sent.
	Speaks api.Protocol
	// Broken is what its share is answered with where it cannot be used: 500 or 503.
	// With 0 the others have its share.
	Broken uint32
	// Filters change the requests that go to this backend after those of the rule,
	// and its answers before them:
	// headers, and the host by Rewrite.Hostname. They can do nothing else.
	Filters []Filter
	Balance Balance // of its endpoints
	// HTTP2 says that requests go on in HTTP/2, which whoever answers is known to speak,
	// whatever its port says.
	HTTP2 bool `json:",omitempty"`
}
