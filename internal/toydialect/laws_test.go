package toydialect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/internal/toydialect"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
)

type m = map[string]any

// document draws what has to do with the language: routes that include each
// other, policies on them, and dataplanes that call hosts.
func document(t *rapid.T) m {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	toy := func() string { return pick("toy", "t1", "t2", "t3", "t4") }
	switch pick("type", "route", "route", "route", "policy", "caller") {
	case "caller":
		return m{"type": "Dataplane", "mesh": "default", "name": pick("caller", "x", "y"), "labels": m{"team": pick("team", "x", "y")},
			"networking": m{"address": "127.0.0.9", "outbound": []m{{"port": 20000, "hosts": m{"port": rapid.SampledFrom([]int{80, 81}).Draw(t, "at")}}}}}
	case "policy":
		on := m{"kind": toydialect.Kind, "name": toy()}
		if pick("section", "all", "one") == "one" {
			on["sectionName"] = pick("rule", "0", "1")
		}
		word := pick("word", "default", "default", "override")
		item := m{"targetRef": on, word: m{"http": m{"requestTimeout": pick("timeout", "1s", "2s")}}}
		spec := m{"to": []m{item}}
		switch pick("top", "Mesh", "Dataplane", "route") {
		case "Dataplane":
			spec["targetRef"] = m{"kind": "Dataplane", "labels": m{"team": pick("team", "x", "y")}}
		case "route":
			item["targetRef"], spec["targetRef"] = m{"kind": "Mesh"}, on
		}
		return m{"type": "MeshTimeout", "mesh": "default", "name": pick("policy", "p1", "p2"), "spec": spec}
	}
	spec := m{}
	if host := pick("host", "", "", "a.example", "b.example", "*.example"); host != "" {
		spec["hosts"], spec["port"] = []string{host}, rapid.SampledFrom([]int{80, 80, 81}).Draw(t, "port")
	}
	var rules, includes []m
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		r := m{"path": pick("path", "/", "/a", "/b")}
		if pick("does", "forwards", "answers") == "forwards" {
			r["to"] = []m{{"service": pick("service", worlds.ServiceNames...), "port": 8080}, {"service": "nobody", "port": 1}}
		} else {
			r["answer"] = m{"status": 200 + len(rules)}
		}
		if pick("inline", "yes", "no") == "yes" {
			r["timeout"] = "3s"
		}
		rules = append(rules, r)
	}
	for range rapid.IntRange(0, 2).Draw(t, "includes") {
		includes = append(includes, m{"name": toy(), "prefix": pick("prefix", "/", "/a", "/in")})
	}
	spec["rules"], spec["includes"] = rules, includes
	doc := m{"type": toydialect.Kind, "mesh": "default", "name": toy(), "spec": spec}
	if pick("effect", "real", "real", "real", "shadow") == "shadow" {
		doc["labels"] = m{"kuma.io/effect": "shadow"}
	}
	return doc
}

// changes draws some, of the language and of the mesh around it.
func changes(t *rapid.T, s *api.Snapshot) []api.Change {
	if rapid.IntRange(0, 2).Draw(t, "whose") == 0 {
		return worlds.Changes(t, catalog, s)
	}
	var out []api.Change
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		text, err := json.Marshal(document(t))
		if err != nil {
			t.Fatal(err)
		}
		o := worlds.Decode(t, catalog, string(text))
		if slices.ContainsFunc(out, func(c api.Change) bool { return c.Ref() == o.Ref }) {
			continue
		}
		before, _ := s.Get(o.Ref)
		if before != nil && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			o = nil
		}
		out = append(out, api.Change{Before: before, After: o})
	}
	return out
}

// everything is what a model says of every dataplane and object, and what Envoys get.
func everything(t *rapid.T, model *resolve.Model) string {
	var b strings.Builder
	reader, renderer := model.Reader(nil), xds.NewRenderer(world.Kinds())
	for r := range model.Dataplanes("") {
		e, err := inspect.Explain(reader, r.Ref, "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
		s := renderer.Render(r)
		for _, list := range [][]*xds.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints} {
			for _, x := range list {
				fmt.Fprintf(&b, " %s %s\n", x.Name, x.Version)
			}
		}
	}
	for _, s := range inspect.OverviewOf(reader, "default", nil).Objects {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}

// TestUpdateEqualsCompile: whatever a dialect looks at, the model derived step by
// step is the one compiled from nothing, and exactly the dataplanes that came out
// different are affected.
func TestUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		snapshot := api.NewSnapshot(0)
		model, _ := resolve.Compile(snapshot, dialects(), world.Kinds())
		for step := range rapid.IntRange(1, 10).Draw(t, "steps") {
			list := changes(t, snapshot)
			snapshot = snapshot.With(uint64(step+1), list)
			next, affected := model.Update(snapshot, list)
			clean, _ := resolve.Compile(snapshot, dialects(), world.Kinds())
			if diff := cmp.Diff(everything(t, clean), everything(t, next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s", step, diff)
			}
			for r := range next.Dataplanes("") {
				old, had := model.Dataplane(r.Ref)
				if (old == r) == slices.Contains(affected.Dataplanes, r.Ref) {
					t.Fatalf("%s: same value %v, but affected are %v", r.Ref, old == r, affected.Dataplanes)
				}
				if had && old != r && old.Dataplane == r.Dataplane && !slices.ContainsFunc(list, regroups) &&
					cmp.Equal(old, r, cmpopts.IgnoreTypes(resolve.Memo{}, &policies.Kind{}), cmpopts.EquateComparable(api.Ref{}), cmp.Comparer(func(a, b *api.Object) bool { return a == b })) {
					t.Fatalf("%s came out as before, but is affected", r.Ref)
				}
			}
			model = next
		}
	})
}

// regroups reports whether a change may put dataplanes together that were apart.
func regroups(c api.Change) bool {
	return slices.ContainsFunc([]*api.Object{c.Before, c.After}, func(o *api.Object) bool {
		if o == nil {
			return false
		}
		spec, ok := o.Spec.(interface{ Top() api.TargetRef })
		return o.Kind == api.KindMesh || ok && spec.Top().Kind != api.KindMesh
	})
}
