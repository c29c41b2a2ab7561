package plan_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds"
)

// drawn is a random world, and a change of it.
func drawn(t *rapid.T) plan.Step {
	catalog := world.Catalog()
	s := api.NewSnapshot(0)
	for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
		s = s.With(uint64(i+1), worlds.Changes(t, catalog, s))
	}
	before, _ := world.Compile(s)
	changes := worlds.Changes(t, catalog, s)
	after, affected := before.Update(s.With(s.Revision()+1, changes), changes)
	step := plan.Step{Before: before, After: after, Affected: affected.Dataplanes, Renderer: world.Settings{}.Renderer()}
	for _, c := range changes {
		step.Touched = append(step.Touched, c.Ref())
	}
	return step
}

// TestPlanIsWhatSidecarsReceive: the resources that a plan names are those that differ
// between what the Envoys get before and after, rendered from nothing; no more and no fewer.
func TestPlanIsWhatSidecarsReceive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := drawn(t)
		got := map[string]bool{}
		for _, r := range plan.Of(step, nil).Envoy {
			for _, dp := range each(r.On) {
				got[fmt.Sprint(r.Mesh, " ", dp, " ", r.Action, " ", r.Type, " ", r.Name)] = true
			}
		}
		if diff := gocmp.Diff(received(step.Before.Snapshot(), step.After.Snapshot()), got); diff != "" {
			t.Fatalf("received (-) and planned (+):\n%s", diff)
		}
	})
}

// received is what changes at the Envoys of two worlds.
func received(before, after *api.Snapshot) map[string]bool {
	out := map[string]bool{}
	was, is := rendered(before), rendered(after)
	for ref, now := range is {
		old := was[ref]
		for name, version := range now {
			if had, there := old[name]; !there {
				out[fmt.Sprint(ref.Mesh, " ", ref.FullName(), " create ", name)] = true
			} else if had != version {
				out[fmt.Sprint(ref.Mesh, " ", ref.FullName(), " update ", name)] = true
			}
		}
		for name := range old {
			if _, stays := now[name]; !stays {
				out[fmt.Sprint(ref.Mesh, " ", ref.FullName(), " delete ", name)] = true
			}
		}
	}
	return out
}

// rendered are the versions of the resources of all dataplanes, by type and name.
func rendered(s *api.Snapshot) map[api.Ref]map[string]string {
	m, _ := world.Compile(s)
	x := world.Settings{}.Renderer()
	out := map[api.Ref]map[string]string{}
	for r := range m.Dataplanes("") {
		out[r.Ref] = versions(x.Render(r))
	}
	return out
}

// versions are those of resources, by type and name.
func versions(state *xds.State) map[string]string {
	out := map[string]string{}
	for typ, list := range map[string][]*xds.Resource{"Listener": state.Listeners, "RouteConfiguration": state.Routes,
		"Cluster": state.Clusters, "ClusterLoadAssignment": state.Endpoints, "Secret": state.Secrets} {
		for _, r := range list {
			out[typ+" "+r.Name] = r.Version
		}
	}
	return out
}

func each(on plan.On) []string {
	if on.Dataplane != "" {
		return []string{on.Dataplane}
	}
	return on.Dataplanes
}

// TestPlanAgreesWithExplain: what differs between the explanations of a dataplane before and
// after is what a plan says of it, with the values that they say.
func TestPlanAgreesWithExplain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := drawn(t)
		told := map[string]map[fact][2]string{}
		for _, e := range plan.Of(step, nil).Effects {
			for _, dp := range each(e.On) {
				dp = e.Mesh + " " + dp
				if told[dp] == nil {
					told[dp] = map[fact][2]string{}
				}
				told[dp][factOf(e)] = [2]string{encoded(e.Before), encoded(e.After)}
			}
		}
		for r := range step.After.Dataplanes("") {
			if _, ok := step.Before.Dataplane(r.Ref); !ok {
				continue
			}
			compare(t, told[r.Ref.Mesh+" "+r.Ref.FullName()], facts(t, step.Before, r.Ref), facts(t, step.After, r.Ref))
		}
	})
}

// fact is something that holds at a dataplane.
type fact struct {
	of, rule string // the destination or the inbound, and the key or name in TLS of a rule
	what     string // kind and field of a policy, or a part
}

func factOf(e plan.Effect) fact {
	f := fact{of: encoded(e.Destination), what: string(e.Part)}
	if e.Policy != "" {
		f.what = e.Policy + " " + e.Field
	}
	if e.Inbound != nil {
		f.of = fmt.Sprint(e.Inbound.Name, e.Inbound.Address)
	}
	if e.Route != nil {
		f.rule = e.Route.Key + e.Route.ServerName
	}
	return f
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// compare holds that each fact that differs is told, with its values. Of what goes or comes
// as a whole the whole may be told.
func compare(t *rapid.T, told map[fact][2]string, before, after map[fact]string) {
	for f := range maps.Keys(maps.Collect(chain(before, after))) {
		was, is := cmp.Or(before[f], "null"), cmp.Or(after[f], "null")
		if was == is {
			continue
		}
		whole := func(f fact) bool { said, ok := told[f]; return ok && (said[0] == "null" || said[1] == "null") }
		said, ok := told[f]
		if ok && said != [2]string{was, is} || !ok && !whole(fact{f.of, f.rule, "route"}) && !whole(fact{f.of, "", "outbound"}) && !whole(fact{f.of, "", "inbound"}) {
			t.Fatalf("%+v is explained as %s, then %s, and planned as %v", f, was, is, said)
		}
	}
}

func chain[K comparable, V any](list ...map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, m := range list {
			for k, v := range m {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// facts are what an explanation says that has an effect, but for who is ready to answer. Of
// two outbounds to one destination the first counts.
func facts(t *rapid.T, m *resolve.Model, ref api.Ref) map[fact]string {
	x, err := inspect.Explain(m.Reader(nil), ref, "")
	if err != nil {
		t.Fatal(err)
	}
	out := map[fact]string{}
	fields := func(at fact, of map[string]sim.Policy) {
		for kind, p := range of {
			for field, said := range p.Why {
				if at.what = kind + " " + field; !slices.Contains(p.Idle, field) {
					out[at] = encoded(said[len(said)-1].Value)
				}
			}
		}
	}
	part := func(at fact, what string, v any, there bool) {
		if at.what = what; there {
			out[at] = encoded(v)
		}
	}
	seen := map[string]bool{}
	for _, o := range x.Outbounds {
		if seen[o.ID] {
			continue
		}
		seen[o.ID] = true
		at := fact{of: encoded(o.Destination)}
		fields(at, o.Policies)
		part(at, "protocol", o.Protocol, true)
		for _, r := range o.Routes {
			for i := range r.Backends {
				if r.Backends[i].Reason == "it has no endpoints" {
					r.Backends[i].Status, r.Backends[i].Reason, r.Backends[i].Outcome = 0, "", ""
				}
			}
			at.rule = r.Key + r.ServerName
			part(at, "backends", r.Backends, len(r.Backends) > 0)
			part(at, "filters", r.Filters, len(r.Filters) > 0)
			part(at, "mirrors", r.Mirrors, len(r.Mirrors) > 0)
			if r.ServerName == "" && r.Key != "" {
				fields(at, r.Policies)
			}
		}
	}
	for _, in := range x.Inbounds {
		of := fact{of: fmt.Sprint(in.Name, in.Address)}
		fields(of, in.Policies)
		part(of, "protocol", in.Protocol, true)
	}
	return out
}
