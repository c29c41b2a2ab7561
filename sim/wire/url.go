package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// TCPScheme is that of a URL by which a connection is asked for, whatever it carries.
const TCPScheme = "tcp"

// HTTPSScheme is that of a URL for which a client speaks TLS: it names the host of the
// URL there.
const HTTPSScheme = "https"

// URL is a URL taken apart as a client does it: nothing is decoded.
type URL struct {
	Scheme    string
	Authority string // what the Host header says
	Host      string // lower case, without brackets and last dot
	Port      uint32
	Explicit  bool // the port was written
	path      string
	query     string // with its question mark
	fragment  bool   // something stood behind a #
}

// ReadURL reads an absolute URL, and says everything that is wrong with it. The scheme is empty
// where nothing else can be read.
func ReadURL(text string) (a URL, wrong []error) {
	a.Port = 80
	said := map[byte]bool{}
	for i := range len(text) {
		if c := text[i]; (c <= ' ' || c >= 0x7f) && !said[c] {
			said[c] = true
			wrong = append(wrong, fmt.Errorf("url: %q has a character that no URL may hold; write it as %%%02X", text, c))
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	switch scheme = strings.ToLower(scheme); {
	case ok && scheme == "http":
	case ok && scheme == "https":
		a.Port = 443
	case ok && scheme == TCPScheme:
		a.Port = 0 // none is usual; a kuma.io/service has none
	default:
		return a, append(wrong, fmt.Errorf("url: %q does not begin with http://, https:// or tcp://; write it in full, as http://web:8080/v1 or tcp://db:5432", text))
	}
	a.Scheme = scheme
	rest, _, a.fragment = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?\\")
	if end < 0 {
		end = len(rest)
	}
	a.Authority, a.path = rest[:end], rest[end:]
	if at := strings.LastIndexByte(a.Authority, '@'); at >= 0 {
		a.Authority = a.Authority[at+1:]
	}
	if at := strings.IndexByte(a.path, '?'); at >= 0 {
		a.path, a.query = a.path[:at], a.path[at:]
	}
	if a.Scheme == TCPScheme && a.path+a.query != "" {
		wrong = append(wrong, fmt.Errorf("url: a connection has no path; write tcp://%s, or ask for a request by http://", a.Authority))
	}
	if a.path == "" {
		a.path = "/"
	}
	return a, append(wrong, a.splitHost()...)
}

func (a *URL) splitHost() (wrong []error) {
	host := a.Authority
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		port, err := strconv.ParseUint(host[at+1:], 10, 16)
		if err != nil || port == 0 {
			wrong = append(wrong, fmt.Errorf("url: %q is not a valid port; write a number from 1 to 65535", host[at+1:]))
		}
		a.Port, a.Explicit, host = uint32(port), true, host[:at]
	}
	host, ok := unbracket(host)
	a.Host = strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case !ok:
		return append(wrong, fmt.Errorf("url: %q is not a valid host; write a name or an address, an IPv6 address in brackets, as http://[::1]:8080/v1", a.Authority))
	case a.Host == "":
		return append(wrong, errors.New("url: no host; write one, as http://web:8080/v1"))
	case a.Host == "localhost":
		a.Host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil {
		a.Host = ip.Unmap().String()
	}
	return wrong
}

// unbracket takes off the brackets that an IPv6 address, and nothing else, has.
func unbracket(host string) (string, bool) {
	inside, opened := strings.CutPrefix(host, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	ip, err := netip.ParseAddr(inside)
	isV6 := err == nil && ip.Is6()
	return inside, opened == closed && opened == isV6 && (isV6 || !strings.ContainsAny(inside, "[]:"))
}

// normalize is a path as Envoy has it with normalize_path: unreserved
// characters decoded, unsafe ones encoded, backslashes turned, dot segments
// resolved; slashes in a row stay. ok is false where Envoy answers 400.
func normalize(path string) (out string, ok bool) {
	if !strings.HasPrefix(path, "/") {
		return "", false
	}
	if !strings.ContainsAny(path, "%\\"+match.EncodedInPath) && !strings.Contains(path, "/.") {
		return path, true
	}
	path = bareDots(path)
	encoded := match.Unescaped(path, func(c byte) bool { return strings.IndexByte(match.EncodedInPath, c) >= 0 })
	return match.ResolveDots(encoded), !strings.Contains(path, "%00")
}

// bareDots takes path parameters off dot segments: /a/..;x is /a/.. for Envoy,
// as long as the dots are not encoded.
func bareDots(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if name, _, ok := strings.Cut(s, ";"); ok && (name == "." || name == "..") {
			segments[i] = name
		}
	}
	return strings.Join(segments, "/")
}

// At is the host of a with a port.
func (a *URL) At(port uint32) string {
	return net.JoinHostPort(a.Host, strconv.FormatUint(uint64(port), 10))
}

// IsIP reports whether the host is an address.
func (a *URL) IsIP() bool {
	_, err := netip.ParseAddr(a.Host)
	return err == nil
}

// CutPort cuts the port off a Host header, colon included.
func CutPort(authority string) (host, port string, ok bool) {
	at := strings.LastIndexByte(authority, ':')
	if at < 0 || at < strings.LastIndexByte(authority, ']') {
		return authority, "", false
	}
	return authority[:at], authority[at:], true
}

// HostOf is the host of an authority as proxies compare it.
func HostOf(authority string) string {
	host, _, _ := CutPort(authority)
	return strings.ToLower(host)
}
