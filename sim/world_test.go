package sim_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// alone is a world of one dataplane.
type alone struct {
	plane  *effective.Resolved
	others []*effective.Destination
}

func (a alone) Dataplane(ref api.Ref) (*effective.Resolved, bool) { return a.plane, ref == a.plane.Ref }

func (a alone) Destinations(string) iter.Seq[*effective.Destination] { return slices.Values(a.others) }

func (alone) NamesFor(api.Ref, *effective.Destination, string) bool { return true }

func run(r *effective.Resolved, q wire.Request) (sim.Verdict, error) {
	return sim.Run(alone{plane: r}, r.Ref, q)
}

func playing(r *effective.Resolved, q wire.Request, answer func(int) timeline.BackendResponse) (timeline.Timeline, error) {
	return sim.Play(alone{plane: r}, r.Ref, q, answer)
}

// shop is a dataplane that calls web:8080 at 127.0.0.1:10001 by these routes.
// The clusters v1, v2, v3 and web have an endpoint, empty has none.
func shop(routes ...*effective.Route) *effective.Resolved {
	web := &effective.Destination{ID: "web:8080", Kind: api.KindMeshService, Name: "web", Port: 8080, Protocol: api.HTTP,
		Hostnames: []string{"web", "web.mesh"}, Ref: api.Ref{Kind: api.KindMeshService, Mesh: "default", Name: "web"}}
	r := &effective.Resolved{
		Ref:       api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "shop-1"},
		Dataplane: &api.Object{Spec: &api.Dataplane{Networking: &api.Networking{}}},
		Outbounds: []*effective.Outbound{{Address: "127.0.0.1", Port: 10001, Destination: web, Table: &effective.Table{Destination: web, Routes: routes}}},
	}
	for _, name := range []string{"v1", "v2", "v3", "empty", "web"} {
		d := &effective.Destination{ID: name, Kind: api.KindMeshService, Name: name, Protocol: api.HTTP}
		e := &effective.Endpoints{Name: name, List: []effective.Endpoint{{Address: "127.0.0.1", Port: 1}}}
		if name == "empty" {
			e.List = nil
		}
		r.Clusters = append(r.Clusters, effective.ClusterUse{Cluster: &effective.Cluster{Name: name, Destination: d}, Endpoints: e})
	}
	return r
}

func to(name string, weight uint32) effective.Backend {
	return effective.Backend{Kind: api.KindMeshService, Name: name, Cluster: name, Weight: weight}
}

// lost is a backend that leads nowhere.
func lost(weight uint32) effective.Backend {
	return effective.Backend{Kind: api.KindMeshService, Name: "nosuch", Weight: weight, Broken: effective.Broken{Why: "there is no MeshService nosuch", Status: 500}}
}

func prefix(value string) match.Condition {
	return matches.On(match.OnPath, match.SegmentPrefix, "", value)
}
func exact(value string) match.Condition { return matches.On(match.OnPath, match.Equal, "", value) }
func regex(value string) match.Condition { return matches.On(match.OnPath, match.FullMatch, "", value) }

func ptr[T any](v T) *T { return &v }

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// outcomeText is a branch in one line: outcome, status, and who gets what.
func outcomeText(b sim.Branch) string {
	s := fmt.Sprintf("%s %d:", b.Outcome, b.Status)
	for _, x := range b.Backends {
		end := fmt.Sprint(x.Status)
		if x.Outcome != "" {
			end = string(x.Outcome)
		}
		s += fmt.Sprintf(" %s=%.4g/%s", x.Name, x.Share, end)
	}
	return s
}
