package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

var versions = []string{"", "1.0", "1.1", "2"}

// checkRequest refuses what is no request at all: no client sends it, or Envoy closes the
// connection without an answer.
func checkRequest(q Request) error {
	if !slices.Contains(versions, q.Version) {
		return fmt.Errorf("version: there is no HTTP/%s; write 1.0, 1.1 or 2", api.Clip(q.Version))
	}
	if q.Body < 0 {
		return fmt.Errorf("body: %d is not a valid length; write a number of bytes", q.Body)
	}
	if q.Draw != nil && (*q.Draw < 0 || *q.Draw >= route.Chances) {
		return fmt.Errorf("draw: %d is not a draw; write a number from 0 to %d", *q.Draw, route.Chances-1)
	}
	if err := checkAuthz(q.Authz); err != nil {
		return err
	}
	if q.bare() && q.Authz != "" {
		return fmt.Errorf("url: nobody asks the authorization service about a connection; leave authz out, or ask for a request by http://")
	}
	if q.bare() && (q.Draw != nil || q.Claims != nil) {
		return fmt.Errorf("url: a connection has no draw and no claims; leave them out, or ask for a request by http://")
	}
	if q.bare() && (q.Method != "" || q.Version != "" || q.Body != 0 || len(q.Headers) > 0) {
		return fmt.Errorf("url: a connection has no method, version, headers or body; leave them out, or ask for a request by http://")
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		v := q.Headers[name]
		switch n := strings.TrimSpace(name); {
		case strings.HasPrefix(n, ":"):
			return fmt.Errorf("headers.%s: pseudo headers cannot be given; use the method and the url", name)
		case n == "" || strings.ContainsFunc(n, notInName):
			return fmt.Errorf("headers: %q is not a valid header name; write it as x-user", name)
		case strings.ContainsFunc(strings.ReplaceAll(v, repeat, ""), control):
			return fmt.Errorf("headers.%s: the value holds a control character; remove it", name)
		case q.Version == "2" && notInHTTP2(strings.ToLower(n), v):
			return fmt.Errorf("headers.%s: a request in HTTP/2 has no such header, and Envoy closes the connection; remove it, or ask by HTTP/1.1", name)
		}
	}
	return nil
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
		return slices.ContainsFunc(strings.Split(value, repeat), func(v string) bool { return !strings.EqualFold(v, "trailers") })
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
