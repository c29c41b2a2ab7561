package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route/match"
)

var versions = []string{"", "1.0", "1.1", "2"}

// mostTold is how many mistakes of one field are told of at most.
const MaxMistakes = 100

// read reads the URL, and says everything that is wrong with what is written of the request.
func (q *Request) Read() (a URL, wrong []error) {
	a, wrong = readURL(q.URL)
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
