package wire

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Filling is of the request as it goes on.
func (f *Forwarded) Filling(c *NormalizedRequest) *Filling {
	path, _, _ := strings.Cut(f.Path, "?")
	return &Filling{call: c, headers: f.OnWire.Headers, authority: f.Authority, path: path}
}

// Forwarded is the request as a backend sees it, without Envoy's own additions.
type Forwarded struct {
	Method         string   `json:"method"`
	Authority      string   `json:"authority"`
	Path           string   `json:"path"` // with the query
	Headers        Headers  `json:"headers,omitempty"`
	RemovedHeaders []string `json:"removedHeaders,omitempty"`

	OnWire *Forwarded `json:"-"` // its headers with those that Envoy adds, as the caller's sidecar sends them
}

// TakeHost gives the request the host of a header, if the rewrite asks for that: the
// first line of it, and where there is none otherwise.
func (f *Forwarded) TakeHost(w *route.Rewrite, otherwise string) {
	if w == nil || w.HostHeader == "" {
		return
	}
	f.Authority = otherwise
	if lines := f.Headers.Values(w.HostHeader); len(lines) > 0 && lines[0] != "" {
		f.Authority = lines[0]
		delete(f.Headers, "x-envoy-original-host") // Envoy writes its own
		if f.OnWire != nil {
			f.OnWire.Headers["x-envoy-original-host"] = otherwise
		}
	}
}

// ChangeBy applies the modifiers of filters, in their order.
func (f *Forwarded) ChangeBy(filters []route.Filter, of *Filling) {
	for i := range filters {
		if m := filters[i].RequestHeaders; m != nil {
			f.change(m, of)
		}
	}
}

// change applies one modifier: set, fill, then add, then remove.
func (f *Forwarded) change(m *route.HeaderModifier, of *Filling) {
	for _, h := range m.Set {
		f.Headers[strings.ToLower(h.Name)] = h.Value
	}
	for i := range m.Fill {
		v := of.value(&m.Fill[i])
		switch name := m.Fill[i].Name; {
		case v == "":
		case m.Fill[i].Add:
			f.add(name, v)
		default:
			f.Headers[name] = v
		}
	}
	for _, h := range m.Add {
		name := strings.ToLower(h.Name)
		if _, there := f.Headers[name]; name == idHeader && !there && !of.gone[name] && of.call.writes(name) {
			f.Headers[name] = madeUpID
			of.call.Doubt("headers: only the proxy knows the " + idHeader + " that it makes up; " + madeUpID + " is shown in its place")
		}
		f.add(name, h.Value)
	}
	for _, name := range m.Remove {
		name = strings.ToLower(name)
		if _, ok := f.Headers[name]; ok {
			f.RemovedHeaders = append(f.RemovedHeaders, name)
			delete(f.Headers, name)
		}
	}
}

// idHeader is the header that Envoy gives each request which has none, and madeUpID stands for its value.
const idHeader, madeUpID = "x-request-id", "%REQ(X-REQUEST-ID)%"

// add gives the request one more line of a header.
func (f *Forwarded) add(name, value string) {
	if _, sent := f.Headers[name]; name == "x-forwarded-proto" && !sent {
		f.Headers[name] = "http" // Envoy has put it there
	}
	if old, ok := f.Headers[name]; ok && slices.Contains(joins, name) {
		value = Joined(old, value)
	} else if ok {
		value = old + Separator + value
	}
	f.Headers[name] = value
}

// Over is f in the version of HTTP in which it goes on. A WebSocket goes over HTTP/2 as
// CONNECT (RFC 8441).
func (f *Forwarded) Over(http2 bool) *Forwarded {
	if !http2 || UpgradeOf(f.Headers) != WebSocket {
		return f
	}
	out := f.Clone()
	out.Method = http.MethodConnect
	for _, h := range []Headers{out.Headers, out.OnWire.Headers} {
		h[":protocol"] = h["upgrade"]
		delete(h, "upgrade")
		delete(h, "connection")
	}
	return out
}

// bodiless are the methods for which Envoy writes no length where there is no body.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodTrace, http.MethodConnect}

// Refusals are what a sidecar may answer to f as it reads it.
func (f *Forwarded) Refusals(c *NormalizedRequest, http2 bool) []uint32 {
	by := c.framings
	if !http2 && by[0] == (framing{}) && !slices.Contains(bodiless, f.Method) && c.Upgrade != WebSocket {
		by = []framing{{length: "0"}}
	}
	return head{f.Method, f.Authority, f.Path, f.OnWire.Headers, http2, false}.refusals(by)
}

// Reread is f after a sidecar in front of a workload has read it; ok is false where it
// refuses the path.
func (f *Forwarded) Reread(http2 bool) (got *Forwarded, ok bool) {
	got = f.Clone()
	path, query, asks := strings.Cut(f.Path, "?")
	if path, ok = normalize(path); ok {
		got.Path = path
		if asks {
			got.Path += "?" + query
		}
	}
	got.Headers = received(f.Headers, http2)
	delete(got.Headers, route.TagsHeader)
	if UpgradeOf(f.Headers) == WebSocket {
		for _, name := range []string{"connection", "upgrade"} {
			got.Headers[name] = f.Headers[name]
		}
		if http2 { // where it went as CONNECT (RFC 8441)
			got.Headers["connection"], got.Method = "upgrade", http.MethodGet
		}
	}
	return got, ok || f.Method == http.MethodConnect
}

// Same reports whether both say the same.
func (f *Forwarded) Same(o *Forwarded) bool {
	return f.Method == o.Method && f.Path == o.Path && maps.Equal(f.Headers, o.Headers)
}

// Untouched is a request that no proxy reads; nil for a bare connection.
func Untouched(q Request, a *URL) *Forwarded {
	if q.Connection() {
		return nil
	}
	f := &Forwarded{Method: q.Method, Authority: authority(q, a), Path: a.path + a.query, Headers: Headers{}}
	for name, v := range q.Headers {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "host" {
			f.Headers[name] = v
		}
	}
	return f
}

// MatchRequest is f as conditions ask about it.
func (f *Forwarded) MatchRequest() *match.Request {
	path, query, _ := strings.Cut(f.Path, "?")
	return &match.Request{Method: f.Method, Authority: f.Authority, Path: path, Query: query, Header: f.Headers.Values}
}

// Clone is a copy that can be changed.
func (f *Forwarded) Clone() *Forwarded {
	out := *f
	out.Headers, out.RemovedHeaders = maps.Clone(f.Headers), slices.Clone(f.RemovedHeaders)
	if f.OnWire != nil {
		out.OnWire = f.OnWire.Clone()
	}
	return &out
}
