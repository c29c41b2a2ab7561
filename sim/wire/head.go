package wire

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Bounds of Envoy 1.40 on the head of a request, where a listener says nothing else.
const (
	maxHeaders     = 100
	maxHeaderBytes = 60 << 10
)

// head is a request without its body, as one connection carries it.
type head struct {
	method, authority, target string
	headers                   Headers // by lower-case name
	http2                     bool
	anyMethod                 bool // is read
}

// size counts as Envoy does. In HTTP/1 the bytes are those of the text, in HTTP/2 those
// of names and values; and there pseudo headers are headers too. Lines of a name that
// Envoy knows become one header as they are read.
func (h *head) size() (headers, bytes int) {
	headers, bytes = 1, h.firstLine()+len("host: \r\n")+len(h.authority)+len("\r\n")
	between := len(": \r\n")
	if h.http2 {
		headers, bytes, between = 2, len(":method:authority")+len(h.method)+len(h.authority), 0
		if h.target != "" { // a CONNECT has none
			headers, bytes = 4, bytes+len(":scheme"+"http"+":path")+len(h.target)
		}
	}
	for name, v := range h.headers {
		if name == "host" {
			continue
		}
		lines := strings.Split(v, Separator)
		if one := slices.Contains(joins, name) || slices.Contains(hop, name) || name == "te"; one && h.http2 {
			lines = []string{Joined(lines...)}
		} else if one {
			headers -= len(lines) - 1
		}
		headers += len(lines)
		if name == "cookie" && h.http2 { // kept apart until all are there
			bytes += len(joinCookies(lines))
			continue
		}
		for _, l := range lines {
			bytes += len(name) + len(l) + between
		}
	}
	return headers, bytes
}

// firstLine is the length of that of HTTP/1.
func (h *head) firstLine() int { return len(h.method) + len(h.target) + len("  HTTP/1.1\r\n") }

// refusal is what Envoy answers to a head as it reads it, before it looks at what the
// headers mean; 0 where it reads on. In HTTP/2 it resets the stream instead of 431.
func (h *head) refusal() uint32 {
	headers, bytes := h.size()
	wrong, beside := h.lengthRefused()
	switch {
	case h.http2 && headers <= maxHeaders && bytes <= maxHeaderBytes:
		return 0
	case h.http2 || h.firstLine() > maxHeaderBytes:
		return http.StatusRequestHeaderFieldsTooLarge
	case !h.methodRead():
		return http.StatusBadRequest
	case bytes > maxHeaderBytes:
		return http.StatusRequestHeaderFieldsTooLarge
	case wrong:
		return http.StatusBadRequest
	case headers > maxHeaders:
		return http.StatusRequestHeaderFieldsTooLarge
	case beside:
		return http.StatusBadRequest
	case h.codingRefused():
		return http.StatusNotImplemented
	}
	return 0
}

// lengthRefused reports whether the length of a body is given wrong, as no number or more
// than once, and whether it stands beside a transfer coding, which has its own. Of a
// CONNECT a length of 0 is not looked at.
func (h *head) lengthRefused() (wrong, beside bool) {
	length, given := h.headers["content-length"]
	_, coded := h.headers["transfer-encoding"]
	looked := given && (h.method != http.MethodConnect || length != "0")
	return strings.Trim(length, "0123456789") != "", looked && coded
}

// codingRefused reports whether the body comes in another coding than in chunks, or in
// any for a CONNECT, which has no body.
func (h *head) codingRefused() bool {
	coding, coded := h.headers["transfer-encoding"]
	return coded && (h.method == http.MethodConnect || strings.ToLower(coding) != "chunked")
}

// methodRead reports whether Envoy reads the method from an HTTP/1.1 client.
func (h *head) methodRead() bool {
	return slices.Contains(known, h.method) || h.anyMethod && h.method != "" && !strings.ContainsFunc(h.method, notInName)
}

// refusals are what it answers to h, by the framing of the body: one, or several where
// nobody knows which framing it has.
func (h head) refusals(by []framing) []uint32 {
	var out []uint32
	for _, f := range by {
		out = append(out, f.in(h).refusal())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lower are headers by lower-case name.
func lower(h Headers) Headers {
	out := make(Headers, len(h))
	for name, v := range h {
		out[strings.ToLower(strings.TrimSpace(name))] = v
	}
	return out
}

// framing is how the end of a body is told: by its length, or as it comes. The zero value
// is that of a request without a body.
type framing struct {
	length string
	open   bool
}

// in is h with the header that the framing needs.
func (f framing) in(h head) *head {
	name, value := "content-length", f.length
	if f.open && !h.http2 {
		name, value = "transfer-encoding", "chunked"
	}
	if _, told := h.headers[name]; value == "" || told {
		return &h
	}
	h.headers = maps.Clone(h.headers)
	if h.headers == nil {
		h.headers = Headers{}
	}
	h.headers[name] = value
	return &h
}

// UnknownFraming is what a verdict says where the way in which the length of the body is told
// decides whether Envoy takes the request.
var UnknownFraming = fmt.Sprintf("headers: with content-length or transfer-encoding they may be more than Envoy takes, %d headers or %d bytes; give the one that is sent",
	maxHeaders, maxHeaderBytes)
