package wire

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// bare reports whether q asks for a connection and says nothing of what it carries.
func (q *Request) Connection() bool {
	scheme, _, _ := strings.Cut(q.URL, "://")
	return strings.EqualFold(scheme, TCPScheme)
}

// serverName is the name that the client of q asks for in TLS at a; empty where it names
// none, or speaks no TLS.
func (q *Request) ServerName(a *URL) (string, error) {
	switch {
	case q.SNI == "" && a.Scheme == HTTPSScheme && !a.IsIP(): // clients name no addresses
		return a.Host, nil
	case q.SNI == "":
		return "", nil
	case a.Scheme != HTTPSScheme && a.Scheme != TCPScheme:
		return "", fmt.Errorf("sni: a client that asks by %s:// speaks no TLS; write https:// or tcp://", a.Scheme)
	}
	name := strings.ToLower(q.SNI)
	if api.ValidateHostname("sni", name) != nil {
		return "", fmt.Errorf("sni: %s is no name that a client asks for in TLS; write that of a host, as db.example.com", redact.Clip(q.SNI))
	}
	return name, nil
}

// Request is what the workload asks for: by http:// in the URL a request, by
// tcp:// a connection, without method and headers.
type Request struct {
	Method  string  `json:"method,omitempty"`
	URL     string  `json:"url"`
	Headers Headers `json:"headers,omitempty"`
	// Answers are what the workloads do at each attempt: see ParseAnswers.
	Answers string `json:"answers,omitempty"`
	// Body is its length in bytes. Envoy keeps MaxRepeated of it to send it again.
	Body int64 `json:"body,omitempty"`
	// Version is that of HTTP by which the workload asks: 1.0, 1.1 or 2; empty means 1.1.
	Version string `json:"version,omitempty"`
	// Draw is the random number that Envoy draws for it, in millionths: 0 to 999999.
	// Without it the verdict has a branch for all that chance may decide.
	Draw *int64 `json:"draw,omitempty"`
	// Claims are the text claims of its token, by name. Without them it has those of
	// an authorization header, which the simulator does not read, or else none.
	Claims map[string]string `json:"claims,omitzero"`
	// Authz is what the authorization service answers where a route asks it: allow, down
	// or the status with which it refuses. Without it the verdict is that of a request which
	// passes, and says so.
	Authz string `json:"authz,omitempty"`
	// SNI is the name that the client asks for in TLS. Without it, by https:// it asks for
	// the host of the URL, and by tcp:// it speaks no TLS.
	SNI string `json:"sni,omitempty"`
	// As is the SPIFFE ID that the caller proves in place of its dataplane's.
	As string `json:"as,omitempty"`
	// Plaintext says that it proves none, whatever its dataplane would do.
	Plaintext bool `json:"plaintext,omitempty"`
}

// MaxRepeated is the longest body that Envoy sends again, in bytes.
const MaxRepeated = 1 << 20
