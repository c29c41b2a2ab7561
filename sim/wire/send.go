package wire

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// wire is what the caller's sidecar sends, with all that it adds and forwarded leaves out.
// limit is how long the first attempt may take, 0 for as long as it likes.
func (c *Call) SendOnWire(rt *effective.Route, rewrite *route.Rewrite, limit time.Duration, beside ...route.Filter) *Forwarded {
	f := &Forwarded{Headers: maps.Clone(c.Headers)}
	delete(f.Headers, "host")
	if limit > 0 { // of the first attempt; later ones may have less time left
		f.Headers["x-envoy-expected-rq-timeout-ms"] = strconv.FormatInt(limit.Milliseconds(), 10)
	}
	c.changeHeaders(f, rt, beside)
	if rewrite == nil {
		return f
	}
	(&Forwarded{Headers: f.Headers, OnWire: f}).TakeHost(rewrite, c.Authority)
	if rewrite.Hostname != "" && rewrite.HostHeader == "" && !filteredApart(rt) { // with the weight of a backend Envoy does not
		f.Headers["x-envoy-original-host"] = c.Authority
	}
	if _, ok := rewrite.Path.Of(rt.Match.Path(), c.Path); ok {
		f.Headers["x-envoy-original-path"] = c.Path + c.Query
	}
	return f
}

// filteredApart reports whether a backend of rt has filters of its own: then the changes of
// rt stand with the weight of each backend.
func filteredApart(rt *effective.Route) bool {
	for _, b := range effective.Sharing(rt.Backends) {
		if len(b.Filters) > 0 {
			return true
		}
	}
	return false
}

// clone is a copy that can be changed.
func (f *Forwarded) Clone() *Forwarded {
	out := *f
	out.Headers, out.RemovedHeaders = maps.Clone(f.Headers), slices.Clone(f.RemovedHeaders)
	if f.OnWire != nil {
		out.OnWire = f.OnWire.Clone()
	}
	return &out
}
