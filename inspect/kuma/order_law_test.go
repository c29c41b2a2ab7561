package kuma_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// seenOrders counts what the law looked at, lest it looks at nothing.
type seenOrders struct{ subset, attached, resource, route, overrides int }

// TestRulesComeToWhatHolds: the conf of every rule in _rules is what the resolver
// makes of the same policies there, whatever attaches to what, and by default or
// over everything, and its origins stand weakest first. Places at which a policy of the rule says nothing are left out:
// Kuma's tags cannot tell ports of one service apart.
func TestRulesComeToWhatHolds(t *testing.T) {
	t.Parallel()
	var seen seenOrders
	for range 20 { // until chance has been everywhere
		rapid.Check(t, func(t *rapid.T) {
			m, _ := world.Compile(snapshot.New(1, append(meeting(t), worlds.Policies(t, world.Catalog(), rapid.IntRange(2, 7).Draw(t, "policies"))...)...))
			for r := range m.Dataplanes("") {
				view, err := kuma.Rules(m.Reader(nil), world.Catalog(), r.Ref)
				if err != nil {
					t.Fatal(err)
				}
				for _, kind := range m.Kinds() {
					i := slices.IndexFunc(view.Rules, func(k kuma.KindRules) bool { return k.Type == kind.Name })
					if i < 0 {
						continue
					}
					for _, o := range r.Outbounds {
						seen.outbound(t, o, kind, &view.Rules[i])
					}
				}
			}
		})
		if !seen.poor() || testing.Short() { // which draws few worlds
			return
		}
	}
	t.Errorf("the worlds are too poor: %+v", seen)
}

// poor reports whether there is something that the law has not looked at yet.
func (n *seenOrders) poor() bool {
	return n.subset == 0 || n.attached == 0 || n.resource == 0 || n.route == 0 || n.overrides == 0
}

// meeting is a dataplane that calls two services, at both of which three routes of
// different strength often meet at one rule.
func meeting(t *rapid.T) []*api.Object {
	docs := []string{
		`{"type":"Dataplane","mesh":"default","name":"a","labels":{"team":"x"},"networking":{"address":"127.0.0.2",
		"inbound":[{"port":8080,"tags":{"kuma.io/service":"a","app":"web","version":"1","kuma.io/protocol":"http"}}],
		"outbound":[{"port":10001,"backendRef":{"kind":"MeshService","name":"web","port":8080}},{"port":10002,"tags":{"kuma.io/service":"orders"}}]}}`,
		`{"type":"MeshService","mesh":"default","name":"web","labels":{"app":"web"},"spec":{"selector":{"dataplaneTags":{"app":"web"}},"ports":[{"port":8080,"appProtocol":"http"}]}}`,
	}
	path := func() string { return rapid.SampledFrom([]string{"/v1", "/v1", "/v2"}).Draw(t, "path") }
	for i, top := range []string{`{"kind":"Mesh"}`, `{"kind":"Dataplane","labels":{"team":"x"}}`, `{"kind":"MeshService","name":"a"}`} {
		docs = append(docs, fmt.Sprintf(`{"type":"MeshHTTPRoute","mesh":"default","name":"r%d","labels":{"team":%q},"spec":{"targetRef":%s,"to":[
		{"targetRef":{"kind":"MeshService","name":"web"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":%q}}],"default":{}}]},
		{"targetRef":{"kind":"MeshService","name":"orders"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":%q}}],"default":{}}]}]}}`,
			i+1, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "team"), top, path(), path()))
	}
	var out []*api.Object
	for _, text := range docs {
		out = append(out, worlds.Decode(t, world.Catalog(), text))
	}
	return out
}

func (n *seenOrders) outbound(t *rapid.T, o *effective.Outbound, kind *policies.Kind, k *kuma.KindRules) {
	d := o.Destination
	for _, rule := range k.ToRules {
		if positive(rule) == 1 && has(rule, api.TagService, d.Name) {
			n.compare(t, &n.subset, "service "+d.ID, o.Policies.Of(kind.Name), rule.Conf, metaNames(rule.Origin))
		}
	}
	for _, rule := range k.ToResourceRules {
		if rule.ResourceMeta.Name == d.Ref.Name && rule.ResourceMeta.Type == d.Ref.Kind && (rule.ResourceSectionName == "" || rule.ResourceSectionName == d.PortName) {
			n.compare(t, &n.resource, "port "+d.ID, o.Policies.Of(kind.Name), rule.Conf[0], originNames(rule.Origin))
		}
	}
	if o.Table == nil {
		return
	}
	for _, rt := range o.Table.Routes {
		e := rt.Policies.Of(kind.Name)
		for _, rule := range k.ToRules {
			if has(rule, "__rule-matches-hash__", rt.Key) && has(rule, api.TagService, d.Name) {
				n.compare(t, &n.attached, "rule "+rt.Key+" of "+d.ID, e, rule.Conf, metaNames(rule.Origin))
			}
		}
		for _, rule := range k.ToResourceRules {
			if len(rt.Origins) > 0 && !slices.ContainsFunc(rt.Origins, func(o *api.Origin) bool { return o.Kind != rule.ResourceMeta.Type || o.Name != rule.ResourceMeta.Name }) {
				n.compare(t, &n.route, "route "+rule.ResourceMeta.Name+" of "+d.ID, e, rule.Conf[0], originNames(rule.Origin))
			}
		}
	}
}

// compare holds a conf against what the policies by those names come to in e.
func (n *seenOrders) compare(t *rapid.T, count *int, what string, e *policies.Effective, conf any, by []string) {
	if e == nil || !subset(by, names(e, func(merge.Said) bool { return true })) {
		return
	}
	*count++
	order := map[string]uint32{}
	var fields []merge.Field
	for _, f := range e.Fields {
		said := slices.DeleteFunc(slices.Clone(f.Said), func(s merge.Said) bool {
			return s.Layer == merge.Default || !slices.Contains(by, s.Origin.Name)
		})
		if len(said) > 1 && said[len(said)-2].Override {
			n.overrides++
		}
		for _, x := range said {
			order[x.Origin.Name] = max(order[x.Origin.Name], x.Order)
		}
		if len(said) > 0 {
			fields = append(fields, merge.Field{Field: f.Field, Said: said})
		}
	}
	if !slices.IsSortedFunc(by, func(a, b string) int { return int(order[a]) - int(order[b]) }) {
		t.Fatalf("%s at %s by %v, which is not weakest first: %v", e.Kind.Name, what, by, order)
	}
	want := e.Kind.Schema.Build(e.Kind.New(), fields)
	if diff := cmp.Diff(want, conf); diff != "" {
		t.Fatalf("%s at %s by %v: holds (-), shown (+): %s", e.Kind.Name, what, by, diff)
	}
}

func positive(r kuma.ToRule) int {
	n := 0
	for _, m := range r.Matchers {
		if !m.Not {
			n++
		}
	}
	return n
}

func originNames(list []kuma.ItemOrigin) []string {
	var out []string
	for _, o := range list {
		out = append(out, o.ResourceMeta.Name)
	}
	return out
}

func subset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(n string) bool { return !slices.Contains(of, n) })
}
