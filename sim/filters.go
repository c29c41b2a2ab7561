package sim

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// ownFilters are those of rt, after the headers of an answer of the proxy's own.
func ownFilters(rt *resolve.Route) []route.Filter {
	if do, ok := rt.Answers().(*route.Respond); ok && len(do.Headers) > 0 {
		return append([]route.Filter{{ResponseHeaders: &route.HeaderModifier{Set: do.Headers}}}, rt.Filters...)
	}
	return rt.Filters
}

// filtered applies the filters of single backends: to what a backend sees after
// those of the route, to its answer before them. One outside the mesh that has its own
// host name by now keeps it; all others were sent to authority.
func filtered(rt *resolve.Route, b *Branch, authority string) {
	n := -1
	for i := range rt.Backends {
		x := &rt.Backends[i]
		if !x.Gets() {
			continue
		}
		n++
		if len(x.Filters) == 0 {
			continue
		}
		f := *b.Forwarded
		if own := b.Backends[n].Forwarded; own != nil {
			f = *own
		}
		f.Headers, f.RemovedHeaders = maps.Clone(f.Headers), slices.Clone(f.RemovedHeaders)
		for j := range x.Filters {
			if m := x.Filters[j].RequestHeaders; m != nil {
				f.change(m)
			}
		}
		if w := route.LastRewrite(x.Filters); w != nil && w.Hostname != "" && f.Authority == authority {
			f.Authority = w.Hostname
		}
		response := responseChange(slices.Concat(x.Filters, rt.Filters))
		if len(b.Backends) == 1 {
			b.Forwarded, b.ResponseHeaders = &f, response
		} else {
			b.Backends[n].Forwarded, b.Backends[n].ResponseHeaders = &f, response
		}
	}
}
