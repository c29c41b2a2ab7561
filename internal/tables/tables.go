// Package tables draws route tables that no document could write: every condition
// that matching knows, answers, and filters of single backends. The tests of the
// simulator hold its laws by them, the differential tests hold it against Envoy.
package tables

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Route is one of a table, in the form in which a case is kept. Its backends are
// services by name.
type Route struct {
	Name      string          `json:"name"`
	Match     match.Match     `json:"match"`
	Filters   []route.Filter  `json:"filters,omitempty"`
	Redirect  *route.Redirect `json:"redirect,omitempty"`
	Respond   *route.Respond  `json:"respond,omitempty"`
	NoBackend uint32          `json:"noBackend,omitempty"` // status where none can take a request
	Backends  []Backend       `json:"backends"`
	Mirrors   []Mirror        `json:"mirrors,omitempty"`
	Upgrade   route.Upgrade   `json:"upgrade,omitempty"`
}

// Backend is a share of what a route forwards.
type Backend struct {
	Name    string            `json:"name"`
	Weight  uint32            `json:"weight"`
	Broken  *effective.Broken `json:"broken,omitempty"` // it leads nowhere
	Filters []route.Filter    `json:"filters,omitempty"`
}

// Mirror gets copies.
type Mirror struct {
	Name    string  `json:"name"`
	Percent float64 `json:"percent"`
}

// Resolve makes of routes what the simulator and the renderer read. Cluster names
// that of a service, and its kind.
func Resolve(routes []*Route, cluster func(name string) (kind, id string)) []*effective.Route {
	backend := func(b Backend) effective.Backend {
		kind, id := cluster(b.Name)
		out := effective.Backend{Kind: kind, Name: b.Name, Cluster: id, Weight: b.Weight, Filters: b.Filters}
		if b.Broken != nil {
			out.Kind, out.Cluster, out.Broken = api.KindMeshService, "", *b.Broken
		}
		return out
	}
	var out []*effective.Route
	for _, r := range routes {
		made := &effective.Route{
			Name: r.Name, Key: r.Name, Match: r.Match, Matches: []match.Match{r.Match}, Filters: r.Filters,
			Origins:   []*api.Origin{{Ref: api.Ref{Kind: "MeshHTTPRoute", Name: r.Name}}},
			NoBackend: route.Respond{Status: r.NoBackend}, Upgrade: r.Upgrade,
		}
		switch {
		case r.Redirect != nil:
			made.Answer = r.Redirect
		case r.Respond != nil:
			made.Answer = r.Respond
		}
		for _, b := range r.Backends {
			made.Backends = append(made.Backends, backend(b))
		}
		for _, m := range r.Mirrors {
			made.Mirrors = append(made.Mirrors, effective.Mirror{Backend: backend(Backend{Name: m.Name, Weight: 1}), Percent: m.Percent})
		}
		out = append(out, made)
	}
	return out
}
