package plan_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
)

// TestPlanAgreesWithExplain: what differs between the explanations of a dataplane before and
// after is what a plan says of it, with the values that they say; and what it says differs.
func TestPlanAgreesWithExplain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := drawn(t)
		told := map[string]map[fact][2]string{}
		for _, e := range plan.Of(step, nil).Effects {
			for _, dp := range each(e.Listed) {
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
			compare(t, told[r.Ref.Mesh+" "+r.Ref.FullName()], facts(t, step.Before, r.Ref), facts(t, step.After, r.Ref),
				func(f fact) bool { return onward(step.Before, r.Ref, f) != onward(step.After, r.Ref, f) })
			delete(told, r.Ref.Mesh+" "+r.Ref.FullName())
		}
	})
}

// fact is something that holds at a dataplane.
type fact struct {
	of, rule string // the destination or the inbound, and the key or name in TLS of a rule
	what     string // kind and field of a policy, or a part
	backend  string // of several of the rule, whose connections it is about
}

func factOf(e plan.Effect) fact {
	f := fact{of: encoded(e.Destination), what: string(e.Section)}
	if e.Policy != "" {
		f.what = e.Policy + " " + e.Field
	}
	if e.Inbound != nil {
		f.of = fmt.Sprint(e.Inbound.Name, e.Inbound.Address)
	}
	if e.Route != nil {
		f.rule, f.backend = e.Route.Key+e.Route.ServerName, e.Route.Backend
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

// held is a fact's value, and whose word it is where that is told.
type held struct{ value, by string }

// compare holds that each fact that differs is told, with its values, and that each that is
// told differs, there or where requests go on to. Of what goes or comes as a whole the whole
// may be told.
func compare(t *rapid.T, told map[fact][2]string, before, after map[fact]held, onward func(fact) bool) {
	for f := range maps.Keys(maps.Collect(chain(before, after))) {
		was, is := cmp.Or(before[f].value, "null"), cmp.Or(after[f].value, "null")
		if was == is || f.what == string(plan.SectionRoute) {
			continue
		}
		whole := func(f fact) bool { said, ok := told[f]; return ok && (said[0] == "null" || said[1] == "null") }
		said, ok := told[f]
		if ok && said != [2]string{was, is} || !ok && !whole(fact{of: f.of, rule: f.rule, what: "route"}) && !whole(fact{of: f.of, what: "outbound"}) && !whole(fact{of: f.of, what: "inbound"}) {
			t.Fatalf("%+v is explained as %s, then %s, and planned as %v", f, was, is, said)
		}
	}
	for f, said := range told {
		was, is := before[f], after[f]
		switch {
		case f.what == string(plan.SectionRoute): // a place, which may be the same among others
			if said != [2]string{cmp.Or(was.value, "null"), cmp.Or(is.value, "null")} {
				t.Fatalf("%+v is planned to go from %v, and stands at %q, then %q", f, said, was.value, is.value)
			}
		case slices.Contains([]string{"endpoints", "names"}, f.what):
			if said[0] == said[1] {
				t.Fatalf("%+v is planned as %v", f, said)
			}
		case !explained[f.what] && !strings.Contains(f.what, " "): // a part that no explanation has by itself
		case was == is && !onward(f):
			t.Fatalf("%+v is planned as %v, and is %+v before and after", f, said, was)
		}
	}
}

// explained are the parts that facts tell of, beside fields of policies.
var explained = map[string]bool{"protocol": true, "backends": true, "filters": true, "mirrors": true}

// onward is what holds of a fact about how a destination is spoken to, which explanations tell
// of with the backends of routes.
func onward(m *resolve.Model, ref api.Ref, f fact) (all string) {
	r, ok := m.Dataplane(ref)
	if !ok {
		return ""
	}
	for _, u := range r.Clusters {
		d := u.Destination
		if encoded(sim.Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}) != f.of {
			continue
		}
		for kind, p := range sim.PolicyViews(u.Cluster.Policies, u.Protocol()) {
			for field, said := range p.Why {
				if kind+" "+field == f.what && !slices.Contains(p.Idle, field) {
					last := said[len(said)-1]
					all += u.Cluster.Name + encoded(last.Value) + encoded(last.Origin)
				}
			}
		}
	}
	return all
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
func facts(t *rapid.T, m *resolve.Model, ref api.Ref) map[fact]held {
	x, err := explain.Of(m.Reader(nil), ref, "")
	if err != nil {
		t.Fatal(err)
	}
	out := map[fact]held{}
	fields := func(at fact, of map[string]sim.Policy) {
		for kind, p := range of {
			for field, said := range p.Why {
				if at.what = kind + " " + field; !slices.Contains(p.Idle, field) {
					last := said[len(said)-1]
					out[at] = held{encoded(last.Value), encoded(last.Origin)}
				}
			}
		}
	}
	part := func(at fact, what string, v any, there bool) {
		if at.what = what; there {
			out[at] = held{value: encoded(v)}
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
		places := map[string]int{}
		for _, r := range o.Routes {
			for i := range r.Backends {
				if r.Backends[i].Reason == "it has no endpoints" {
					r.Backends[i].Status, r.Backends[i].Reason, r.Backends[i].Outcome = 0, "", ""
				}
			}
			at.rule = r.Key + r.ServerName
			if _, again := places[at.rule]; r.ServerName == "" && r.Key != "" && !again {
				places[at.rule] = len(places)
				part(at, "route", places[at.rule], true)
			}
			onward := make([]map[string]sim.Policy, len(r.Backends))
			for i := range r.Backends {
				onward[i], r.Backends[i].Policies = r.Backends[i].Policies, nil
			}
			part(at, "backends", r.Backends, len(r.Backends) > 0)
			part(at, "filters", r.Filters, len(r.Filters) > 0)
			part(at, "mirrors", r.Mirrors, len(r.Mirrors) > 0)
			if r.ServerName == "" && r.Key != "" {
				fields(at, r.Policies)
				for i, views := range onward {
					if len(onward) > 1 {
						at.backend = terminal.BackendText(r.Backends[i])
					}
					fields(at, views)
				}
				at.backend = ""
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

// TestPlanTellsWhoComesAndGoes: the endpoints of clusters and the names that workloads may call
// are others afterwards by exactly what a plan tells.
func TestPlanTellsWhoComesAndGoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := drawn(t)
		told := map[string][2]string{}
		for _, e := range plan.Of(step, nil).Effects {
			for _, dp := range each(e.Listed) {
				if e.Section == plan.SectionEndpoints || e.Section == plan.SectionNames {
					told[fmt.Sprint(e.Mesh, " ", dp, " ", e.Section, " ", encoded(e.Destination))] = [2]string{encoded(e.Before), encoded(e.After)}
				}
			}
		}
		want := map[string][2]string{}
		add := func(r *effective.Resolved, part plan.Section, of any, was, is []string) {
			if gone, come := without(was, is), without(is, was); len(gone)+len(come) > 0 {
				want[fmt.Sprint(r.Ref.Mesh, " ", r.Ref.FullName(), " ", part, " ", encoded(of))] = [2]string{encoded(orNull(gone)), encoded(orNull(come))}
			}
		}
		for is := range step.After.Dataplanes("") {
			was, ok := step.Before.Dataplane(is.Ref)
			if !ok {
				continue
			}
			add(is, plan.SectionNames, (*sim.Destination)(nil), namesAt(step.Before, is.Ref), namesAt(step.After, is.Ref))
			before := map[string]*effective.Endpoints{}
			for _, u := range was.Clusters {
				before[u.Cluster.Name] = u.Endpoints
			}
			for _, u := range is.Clusters {
				if old, had := before[u.Cluster.Name]; had {
					d := u.Destination
					add(is, plan.SectionEndpoints, sim.Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}, endpointsOf(old), endpointsOf(u.Endpoints))
				}
			}
		}
		if diff := gocmp.Diff(want, told); diff != "" {
			t.Fatalf("what comes and goes (-) and what is planned (+):\n%s", diff)
		}
	})
}

func without(list, others []string) (out []string) {
	for _, x := range list {
		if !slices.Contains(others, x) {
			out = append(out, x)
		}
	}
	return out
}

func orNull(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func namesAt(m *resolve.Model, dp api.Ref) (out []string) {
	for _, n := range m.Hostnames(dp.Mesh, m.CallsAs(dp), nil).List {
		out = append(out, n.Name+" "+strings.Join(n.Addresses, ","))
	}
	slices.Sort(out)
	return out
}

func endpointsOf(e *effective.Endpoints) (out []string) {
	if e != nil {
		for _, x := range e.List {
			out = append(out, fmt.Sprintf("%s:%d", x.Address, x.Port))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
