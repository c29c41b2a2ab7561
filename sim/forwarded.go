package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// changeHeaders makes the changes of rt to the headers of f, beside which Envoy makes those
// of others.
func (c *call) changeHeaders(f *Forwarded, rt *effective.Route, beside []route.Filter) {
	f.changeBy(rt.Filters, c.filling(slices.Concat(rt.Filters, beside)))
}

// forwarded is the request after the route's filters, beside which Envoy makes the
// changes of others.
func (c *call) forwarded(rt *effective.Route, rewrite *route.Rewrite, beside ...route.Filter) *Forwarded {
	f := &Forwarded{Method: c.method, Authority: c.authority, Path: c.path + c.query, Headers: maps.Clone(c.sent)}
	c.changeHeaders(f, rt, beside)
	slices.Sort(f.RemovedHeaders)
	f.RemovedHeaders = slices.Compact(f.RemovedHeaders)
	if rewrite == nil {
		return f
	}
	f.takeHost(rewrite, c.authority)
	if rewrite.Hostname != "" && rewrite.HostHeader == "" {
		f.Authority = rewrite.Hostname
		delete(f.Headers, "x-envoy-original-host") // Envoy writes its own
	}
	if p, ok := rewrite.Path.Of(rt.Match.Path(), c.path); ok {
		f.Path = p + c.query
		delete(f.Headers, "x-envoy-original-path")
	}
	return f
}

// takeHost gives the request the host of a header, if the rewrite asks for that: the
// first line of it, and where there is none otherwise.
func (f *Forwarded) takeHost(w *route.Rewrite, otherwise string) {
	if w == nil || w.HostHeader == "" {
		return
	}
	f.Authority = otherwise
	if lines := f.Headers.Values(w.HostHeader); len(lines) > 0 && lines[0] != "" {
		f.Authority = lines[0]
		delete(f.Headers, "x-envoy-original-host") // Envoy writes its own
		if f.wire != nil {
			f.wire.Headers["x-envoy-original-host"] = otherwise
		}
	}
}

// changeBy applies the modifiers of filters, in their order.
func (f *Forwarded) changeBy(filters []route.Filter, of *filling) {
	for i := range filters {
		if m := filters[i].RequestHeaders; m != nil {
			f.change(m, of)
		}
	}
}

// change applies one modifier: set, fill, then add, then remove.
func (f *Forwarded) change(m *route.HeaderModifier, of *filling) {
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
			of.call.doubt("headers: only the proxy knows the " + idHeader + " that it makes up; " + madeUpID + " is shown in its place")
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
		value = joined(old, value)
	} else if ok {
		value = old + repeat + value
	}
	f.Headers[name] = value
}
