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
	found map[string][]traffic.Trouble // by mesh
}

// Problems are the troubles of all meshes, each of the route that takes the requests, or else of the service to
// which they are sent.
func (f *TroubleFinder) Problems(ctx context.Context, m *resolve.Reader) (out []conditions.OwnedProblem) {
	found := f.all(ctx, m)
	for mesh := range m.MeshNames() {
		troubles := found[mesh]
		owner := owners(m, mesh, troubles)
		for i := range troubles {
			t := &troubles[i]
			p := owner(t)
			p.Problem = conditions.Problem{Severity: t.Severity, Code: t.Code, Message: t.Message}
			out = append(out, p)
		}
	}
	return out
}

// all are the troubles by mesh.
func (f *TroubleFinder) all(ctx context.Context, m *resolve.Reader) map[string][]traffic.Trouble {
	f.mu.Lock()
	defer f.mu.Unlock() // one asks the replicas for all who ask meanwhile
	now := time.Now()
	if now.Sub(f.at) < traffic.Step {
		return f.found
	}
	found, changes := map[string][]traffic.Trouble{}, f.changes()
	for mesh := range m.MeshNames() {
		sums, _ := f.Traffic.Traffic(ctx, traffic.TrafficQuery{Mesh: mesh, By: traffic.ByRoute, Window: traffic.Quarter, Minutes: true})
		if troubles := traffic.Troubles(now, sums.Items, changes); len(troubles) > 0 {
			found[mesh] = troubles
		}
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
func owners(m *resolve.Reader, mesh string, troubles []traffic.Trouble) func(*traffic.Trouble) conditions.OwnedProblem {
	services := map[string]api.Ref{}
	if slices.ContainsFunc(troubles, func(t traffic.Trouble) bool { return t.Route == "" }) {
		for d := range m.Destinations(mesh) {
			services[d.Namespace+"/"+d.ID] = d.Ref
		}
	}
	return func(t *traffic.Trouble) conditions.OwnedProblem {
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
