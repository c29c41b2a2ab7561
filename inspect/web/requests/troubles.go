package requests

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/resolve"
)

// TroubleFinder finds what is wrong with requests, once in ten seconds however often it is asked.
type TroubleFinder struct {
	Traffic TrafficSource
	Events  *events.Bus

	mu    sync.Mutex
	at    time.Time
	found map[string]troubles // by mesh
}

// troubles are those of one mesh.
type troubles struct {
	routes    []traffic.Trouble
	endpoints []traffic.EndpointTrouble
}

// Problems are the troubles of all meshes, each of the route that takes the requests, or else of the service to
// which they are sent; those of endpoints are of their dataplanes.
func (f *TroubleFinder) Problems(ctx context.Context, m *resolve.Reader) (out []conditions.OwnedProblem) {
	found := f.all(ctx, m)
	for mesh := range m.MeshNames() {
		all := found[mesh]
		owner := owners(m, mesh, all)
		for i := range all.routes {
			t := &all.routes[i]
			p := owner(&t.Key)
			p.Problem = conditions.Problem{Severity: t.Severity, Code: t.Code, Message: t.Message}
			out = append(out, p)
		}
		for i := range all.endpoints {
			t := &all.endpoints[i]
			p := owner(&traffic.Key{To: t.To, ToNamespace: t.ToNamespace})
			if _, ok := m.Dataplane(t.Dataplane); ok {
				p = conditions.OwnedProblem{Owner: t.Dataplane.String(), Ref: &t.Dataplane}
			}
			p.Problem = conditions.Problem{Severity: t.Severity, Code: t.Code, Message: t.Message}
			out = append(out, p)
		}
	}
	return out
}

// all are the troubles by mesh.
func (f *TroubleFinder) all(ctx context.Context, m *resolve.Reader) map[string]troubles {
	f.mu.Lock()
	defer f.mu.Unlock() // one asks the replicas for all who ask meanwhile
	now := time.Now()
	if now.Sub(f.at) < traffic.Step {
		return f.found
	}
	found, changes := map[string]troubles{}, f.changes()
	for mesh := range m.MeshNames() {
		sums, _ := f.Traffic.Traffic(ctx, traffic.TrafficQuery{Mesh: mesh, By: traffic.ByRoute, Window: traffic.Quarter, Minutes: true, Hosts: true})
		found[mesh] = troubles{traffic.Troubles(now, sums.Items, changes), traffic.EndpointTroubles(now, sums.Hosts, sums.Items)}
	}
	if ctx.Err() == nil { // else replicas may have had no time to answer
		f.at, f.found = now, found
	}
	return found
}

// changes are the latest revisions.
func (f *TroubleFinder) changes() (out []traffic.RevisionChange) {
	for _, v := range f.Events.Latest("change") {
		if n := len(out); n == 0 || out[n-1].Revision != v.Revision {
			out = append(out, traffic.RevisionChange{At: v.Time, Revision: v.Revision})
		}
		last := &out[len(out)-1]
		last.Objects = append(last.Objects, v.Ref)
	}
	return out
}

// owners says whose a trouble is.
func owners(m *resolve.Reader, mesh string, all troubles) func(*traffic.Key) conditions.OwnedProblem {
	services := map[string]api.Ref{}
	if len(all.endpoints) > 0 || slices.ContainsFunc(all.routes, func(t traffic.Trouble) bool { return t.Route == "" }) {
		for d := range m.Destinations(mesh) {
			services[d.Namespace+"/"+d.ID] = d.Ref
		}
	}
	return func(t *traffic.Key) conditions.OwnedProblem {
		ref := services[t.ToNamespace+"/"+t.To]
		if kind, name, ok := strings.Cut(t.Route, "/"); ok {
			ref = api.Ref{Kind: kind, Mesh: mesh, Namespace: t.RouteNamespace, Name: name}
		}
		if ref == (api.Ref{}) {
			return conditions.OwnedProblem{Owner: conditions.ServiceOwner(t.To)}
		}
		return conditions.OwnedProblem{Owner: ref.String(), Ref: &ref}
	}
}
