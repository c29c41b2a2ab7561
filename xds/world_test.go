package xds_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/endpoints"
	"github.com/weftmesh/weft/xds/resource"
)

// web is the destination of most tests.
func web() *effective.Destination {
	return &effective.Destination{ID: "web:8080", Kind: api.KindMeshService, Name: "web", Port: 8080, Protocol: api.HTTP}
}

func to(cluster string, weight uint32) effective.Backend {
	return effective.Backend{Kind: api.KindMeshService, Name: cluster, Cluster: cluster, Weight: weight}
}

func broken(weight uint32) effective.Backend {
	return effective.Backend{Kind: api.KindMeshService, Name: "gone", Weight: weight, Broken: effective.Broken{Why: "no such service", Status: 500}}
}

func by(name string) *api.Origin {
	return &api.Origin{Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: name}, Field: "spec.to[0].rules[0]"}
}

func path(op match.Op, value string) match.Match { return matches.Path(op, value) }

// rule is a route to v1 for what m matches.
func rule(name string, m match.Match, filters ...route.Filter) *effective.Route {
	o := by(name)
	return &effective.Route{
		Name: name, Match: m, Matches: []match.Match{m}, Origins: []*api.Origin{o}, FiltersBy: o,
		Filters: filters, Backends: []effective.Backend{to("v1", 1)},
	}
}

// rest matches everything.
func rest() *effective.Route {
	return &effective.Route{Name: "rest", Match: path(match.SegmentPrefix, "/"), Backends: []effective.Backend{to("web:8080", 1)}}
}

func table(routes ...*effective.Route) *effective.Table {
	return &effective.Table{Destination: web(), Routes: append(routes, rest())}
}

// sidecar is a dataplane that calls through tables and serves at inbounds.
func sidecar(tables []*effective.Table, clusters []effective.ClusterUse, inbounds ...*effective.Inbound) *effective.Resolved {
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "dp-1"}
	r := &effective.Resolved{
		Ref: ref, Dataplane: &api.Object{Ref: ref, Spec: &api.Dataplane{Networking: &api.Networking{}}},
		Clusters: clusters,
	}
	for _, in := range inbounds {
		r.Inbounds = append(r.Inbounds, effective.InboundUse{Inbound: in})
	}
	for i, t := range tables {
		r.Outbounds = append(r.Outbounds, &effective.Outbound{
			Address: "127.0.0.1", Port: 10001 + uint32(i), Destination: t.Destination, Table: t,
		})
	}
	return r
}

func renderer() *xds.Renderer { return xds.NewRenderer(all.Kinds) }

// use is a cluster of dest with endpoints.
func use(name string, dest *effective.Destination, list ...effective.Endpoint) effective.ClusterUse {
	return effective.ClusterUse{
		Cluster:   &effective.Cluster{Name: name, Destination: dest},
		Endpoints: &effective.Endpoints{Name: name, List: list},
	}
}

// renderedEndpoints are those of a cluster of a caller who prefers nobody.
func renderedEndpoints(e *effective.Endpoints) *resource.Resource {
	return endpoints.Render(sidecar(nil, nil), &effective.ClusterUse{Cluster: &effective.Cluster{}, Endpoints: e})
}

// names are the names of resources, in their order.
func names(list []*resource.Resource) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.Name
	}
	return out
}

func find(t *testing.T, list []*resource.Resource, name string) *resource.Resource {
	t.Helper()
	for _, r := range list {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no resource %q among %q", name, names(list))
	return nil
}
