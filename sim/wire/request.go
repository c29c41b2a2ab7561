package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route/match"
)

// Connection reports whether q asks for a connection and says nothing of what it carries.
func (q *Request) Connection() bool {
	scheme, _, _ := strings.Cut(q.URL, "://")
	return strings.EqualFold(scheme, TCPScheme)
}

// ServerName is the name that the client of q asks for in TLS at a; empty where it names
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

// Read reads the URL, and says everything that is wrong with what is written of the request.
func (q *Request) Read() (a URL, wrong []error) {
	a, wrong = ReadURL(q.URL)
	wrong = append(wrong, q.bareMistakes()...)
	wrong = append(wrong, q.headerMistakes()...)
	if !slices.Contains(versions, q.Version) {
		wrong = append(wrong, fmt.Errorf("version: there is no HTTP/%s; write 1.0, 1.1 or 2", redact.Clip(q.Version)))
	}
	if q.Body < 0 {
		wrong = append(wrong, fmt.Errorf("body: %d is not a valid length; write a number of bytes", q.Body))
	}
	if q.Draw != nil && (*q.Draw < 0 || *q.Draw >= match.Chances) {
		wrong = append(wrong, fmt.Errorf("draw: %d is not a draw; write a number from 0 to %d", *q.Draw, match.Chances-1))
	}
	if a.Scheme != "" {
		_, err := q.ServerName(&a)
		wrong = append(wrong, err)
	}
	return a, wrong
}

// bareMistakes are what is said of a connection and holds of a request alone.
func (q *Request) bareMistakes() (wrong []error) {
	if !q.Connection() {
		return nil
	}
	if q.Authz != "" {
		wrong = append(wrong, errors.New("url: nobody asks the authorization service about a connection; leave authz out, or ask for a request by http://"))
	}
	if q.Draw != nil || q.Claims != nil {
		wrong = append(wrong, errors.New("url: a connection has no draw and no claims; leave them out, or ask for a request by http://"))
	}
	if q.Method != "" || q.Version != "" || q.Body != 0 || len(q.Headers) > 0 {
		wrong = append(wrong, errors.New("url: a connection has no method, version, headers or body; leave them out, or ask for a request by http://"))
	}
	return wrong
}

func (q *Request) headerMistakes() (wrong []error) {
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		if len(wrong) == MaxMistakes {
			break
		}
		v := q.Headers[name]
		switch n := strings.TrimSpace(name); {
		case strings.HasPrefix(n, ":"):
			wrong = append(wrong, fmt.Errorf("headers.%s: pseudo headers cannot be given; use the method and the url", name))
		case n == "" || strings.ContainsFunc(n, notInName):
			wrong = append(wrong, fmt.Errorf("headers: %q is not a valid header name; write it as x-user", name))
		case strings.ContainsFunc(strings.ReplaceAll(v, Separator, ""), control):
			wrong = append(wrong, fmt.Errorf("headers.%s: the value holds a control character; remove it", name))
		case q.Version == "2" && notInHTTP2(strings.ToLower(n), v):
			wrong = append(wrong, fmt.Errorf("headers.%s: a request in HTTP/2 has no such header, and Envoy closes the connection; remove it, or ask by HTTP/1.1", name))
		}
	}
	return wrong
}

// Draws are the draws of a request: the one that it names, or all.
func (q *Request) Draws() Draws {
	if q.Draw != nil {
		return Draws{{*q.Draw, *q.Draw + 1}}
	}
	return AnyDraw
}

// framings are the ways in which the client may tell it: one, where the headers say so
// or there is no body.
func (q *Request) framings() []framing {
	for name, v := range q.Headers {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "content-length":
			return []framing{{length: v}}
		case "transfer-encoding":
			return []framing{{open: true}}
		}
	}
	if q.Body == 0 {
		return []framing{{}}
	}
	return []framing{{length: strconv.FormatInt(q.Body, 10)}, {open: true}}
}

var versions = []string{"", "1.0", "1.1", "2"}

// MaxMistakes is how many mistakes of one field are told of at most.
const MaxMistakes = 100

func notInName(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// notInHTTP2 holds for headers of one connection (RFC 9113, 8.2.2), and for a host
// that only HTTP/1 may name.
func notInHTTP2(name, value string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	case "content-length":
		return strings.Trim(value, "0123456789") != ""
	case "te":
		return slices.ContainsFunc(strings.Split(value, Separator), func(v string) bool { return !strings.EqualFold(v, "trailers") })
	case "host":
		return value == "" || strings.ContainsRune(value, '@') || strings.ContainsFunc(value, notInHost)
	}
	return false
}

// notInHost are the characters of which Envoy 1.40 takes none in a host.
func notInHost(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"#/<>?\\^`{|}", r)
}

// known are the methods that Envoy reads from an HTTP/1.1 client.
var known = strings.Fields("ACL BIND CHECKOUT COPY DELETE GET HEAD LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH " +
	"POST PROPFIND PROPPATCH PURGE PUT REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE CONNECT")
