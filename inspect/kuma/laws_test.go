package kuma_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// TestRulesAreWhatHolds: what _rules lists for a rule of a route, and for an
// inbound, are the policies that hold there, and no others; and whoever holds for
// a destination stands in a rule of its service.
func TestRulesAreWhatHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, world.Catalog(), 5)
		m, _ := world.Compile(s)
		for r := range m.Dataplanes("") {
			view, err := kuma.Rules(m.Reader(nil), world.Catalog(), r.Ref)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range m.Kinds() {
				i := slices.IndexFunc(view.Rules, func(k kuma.KindRules) bool { return k.Type == kind.Name })
				k := kuma.KindRules{}
				if i >= 0 {
					k = view.Rules[i]
				}
				checkInbounds(t, r, kind.Name, k)
				for _, o := range r.Outbounds {
					checkOutbound(t, m, o, kind.Name, k)
				}
			}
		}
	})
}

func checkInbounds(t *rapid.T, r *effective.Resolved, kind string, k kuma.KindRules) {
	for _, in := range r.Inbounds {
		var shown []string
		for _, f := range k.FromRules {
			for _, rule := range f.Rules {
				if f.Inbound.Port == in.Port && f.Inbound.Name == in.Name {
					shown = append(shown, metaNames(rule.Origin)...)
				}
			}
		}
		want := names(in.Policies.Of(kind), func(s merge.Said) bool { return strings.HasPrefix(string(s.Origin.Field), "spec.from") })
		if diff := cmp.Diff(want, unique(shown)); diff != "" {
			t.Fatalf("%s %s inbound %d: holds (-), shown (+): %s", r.Ref, kind, in.Port, diff)
		}
	}
}

func checkOutbound(t *rapid.T, m *resolve.Model, o *effective.Outbound, kind string, k kuma.KindRules) {
	attached := func(name string) bool { return topIsRoute(m, kind, name) }
	if o.Table != nil {
		for _, rt := range o.Table.Routes {
			want := slices.DeleteFunc(names(rt.Policies.Of(kind), func(s merge.Said) bool { return s.Layer >= merge.Route }), func(n string) bool { return !attached(n) })
			var shown []string
			for _, rule := range k.ToRules {
				if has(rule, "__rule-matches-hash__", rt.Key) && has(rule, api.TagService, o.Destination.Name) {
					shown = append(shown, metaNames(rule.Origin)...)
				}
			}
			shown = slices.DeleteFunc(unique(shown), func(n string) bool { return !attached(n) })
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Fatalf("%s of %s at %s: holds (-), shown (+): %s", kind, o.Destination.ID, rt.Key, diff)
			}
		}
	}
	for _, name := range names(o.Policies.Of(kind), func(s merge.Said) bool { return s.Layer != merge.Default }) {
		if namesRoutes(m, kind, name) {
			continue // shown by resource alone
		}
		found := slices.ContainsFunc(k.ToRules, func(r kuma.ToRule) bool { return slices.Contains(metaNames(r.Origin), name) })
		found = found || slices.ContainsFunc(k.ToResourceRules, func(r kuma.ResourceRule) bool {
			return slices.ContainsFunc(r.Origin, func(x kuma.ItemOrigin) bool { return x.ResourceMeta.Name == name })
		})
		if !found {
			t.Fatalf("%s %s holds for %s and is not shown", kind, name, o.Destination.ID)
		}
	}
}

func has(r kuma.ToRule, key, value string) bool {
	return slices.Contains(r.Matchers, kuma.Matcher{Key: key, Value: value})
}

func specOf(m *resolve.Model, kind, name string) *policies.Spec {
	o, _ := m.Snapshot().Get(api.Ref{Kind: kind, Mesh: "default", Name: name})
	return o.Spec.(*policies.Spec)
}

func topIsRoute(m *resolve.Model, kind, name string) bool {
	return specOf(m, kind, name).Top().IsRoute()
}

func namesRoutes(m *resolve.Model, kind, name string) bool {
	return slices.ContainsFunc(specOf(m, kind, name).To, func(i policies.Item) bool { return i.TargetRef.IsRoute() })
}

// names are those who say something of a kind that want wants, sorted.
func names(e *policies.Effective, want func(merge.Said) bool) []string {
	out := []string{}
	if e != nil {
		for _, f := range e.Fields {
			for _, s := range f.Said {
				if s.Layer != merge.Default && want(s) {
					out = append(out, s.Origin.Name)
				}
			}
		}
	}
	return unique(out)
}

func metaNames(list []*kuma.Meta) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Name)
	}
	return out
}

func unique(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}
