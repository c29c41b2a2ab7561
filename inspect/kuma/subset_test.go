package kuma

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies/timeout"
)

func item(name string, seconds int, tags ...string) tagged {
	from := map[string]string{}
	for _, t := range tags {
		k, v, _ := strings.Cut(t, "=")
		from[k] = v
	}
	it := tagged{tags: newTags(from, ""), origin: &api.Origin{Ref: api.Ref{Kind: "MeshTimeout", Name: name}}}
	d := api.Duration(time.Duration(seconds) * time.Second)
	it.leaves = timeout.Kind.Schema.Read(&timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &d}})
	return it
}

func ruleTexts(rules []subsetRule) string {
	var b strings.Builder
	for _, r := range rules {
		for i, m := range r.matchers {
			fmt.Fprintf(&b, "%s%s%s=%s", map[bool]string{true: " "}[i > 0], map[bool]string{true: "!"}[m.Not], m.Key, m.Value)
		}
		fmt.Fprintf(&b, ": %v by", *r.conf.(*timeout.Conf).HTTP.RequestTimeout)
		for _, o := range r.origins {
			b.WriteString(" " + o.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// E11 of spec/kuma.md 4.8.
func TestRulesOfFromNameEachCallerAndEverybodyElse(t *testing.T) {
	t.Parallel()
	rules, cut := subsetRules(timeout.Kind, []tagged{item("deny", 1), item("a", 2, "svc=ui"), item("b", 2, "svc=order"), item("c", 2, "svc=payment")}, true)
	want := `svc=ui: 2s by deny a
svc=order: 2s by deny b
svc=payment: 2s by deny c
!svc=ui: 1s by deny
!svc=order: 1s by deny
!svc=payment: 1s by deny
`
	if got := ruleTexts(rules); got != want || cut {
		t.Errorf("cut %v, rules\n%swanted\n%s", cut, got, want)
	}
}

func TestRulesOfToWithOneKeyAreOneForEachSet(t *testing.T) {
	t.Parallel()
	rules, _ := subsetRules(timeout.Kind, []tagged{item("mesh", 1), item("web", 2, "svc=web"), item("again", 3, "svc=web")}, false)
	want := "svc=web: 3s by mesh web again\n: 1s by mesh\n"
	if got := ruleTexts(rules); got != want {
		t.Errorf("rules\n%swanted\n%s", got, want)
	}
}

func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	var items []tagged
	for i := range 40 {
		items = append(items, item("p", i+1, fmt.Sprintf("k%d=v", i)))
	}
	rules, cut := subsetRules(timeout.Kind, items, true)
	if len(rules) != maxRules || !cut {
		t.Errorf("%d rules, cut %v", len(rules), cut)
	}
}

// Whoever asks for the rules is answered, however many tags a policy names.
func TestRulesOfManyTagsAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	var tags []string
	for i := range 60 {
		tags = append(tags, fmt.Sprintf("k%02d=v", i))
	}
	found := make(chan int, 1)
	go func() {
		rules, _ := subsetRules(timeout.Kind, []tagged{item("all", 1, tags...), item("most", 2, tags[:59]...)}, true)
		found <- len(rules)
	}()
	select {
	case n := <-found:
		if n != 2 {
			t.Errorf("%d rules: those with all tags, and those that lack the last, are two", n)
		}
	case <-time.After(time.Minute):
		t.Fatal("no end")
	}
}

func TestEveryRuleIsTheFoldOfWhatItContains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var items []tagged
		for i := range rapid.IntRange(1, 6).Draw(t, "items") {
			var tags []string
			for _, k := range []string{"a", "b", "c"} {
				if v := rapid.IntRange(0, 3).Draw(t, "tag"); v > 0 {
					tags = append(tags, fmt.Sprintf("%s=%d", k, v))
				}
			}
			items = append(items, item(fmt.Sprint(i), i+1, tags...))
		}
		rules, _ := subsetRules(timeout.Kind, items, true)
		reached := map[string]bool{}
		for _, r := range rules {
			var layers []merge.Layer
			for _, it := range items {
				if contains(r.matchers, it.tags) {
					layers = append(layers, merge.Layer{Leaves: it.leaves})
					reached[it.origin.Name] = true
				}
			}
			want := timeout.Kind.Schema.Build(timeout.Kind.New(), merge.Fold(layers))
			a, _ := json.Marshal(want)
			b, _ := json.Marshal(r.conf)
			if string(a) != string(b) || len(layers) != len(r.origins) {
				t.Fatalf("rule %v has %s by %d, wanted %s by %d", r.matchers, b, len(r.origins), a, len(layers))
			}
		}
		if len(reached) != len(items) {
			t.Fatalf("only %d of %d items are in some rule", len(reached), len(items))
		}
	})
}

// TestTargetsAsTags: each kind of targetRef that names callers by tags or by a service is a
// set of tags; others are none.
func TestTargetsAsTags(t *testing.T) {
	t.Parallel()
	v1 := map[string]string{"version": "v1"}
	for _, c := range []struct {
		ref  api.TargetRef
		want tags
		ok   bool
	}{
		{api.TargetRef{Kind: api.KindMesh}, nil, true},
		{api.TargetRef{Kind: api.KindMeshSubset, Tags: v1}, newTags(v1, ""), true},
		{api.TargetRef{Kind: api.KindMeshService, Name: "web"}, newTags(nil, "web"), true},
		{api.TargetRef{Kind: api.KindMeshService, Labels: v1}, nil, false},
		{api.TargetRef{Kind: api.KindMeshServiceSubset, Name: "web", Tags: v1}, newTags(v1, "web"), true},
		{api.TargetRef{Kind: api.KindMeshServiceSubset, Tags: v1}, nil, false},
		{api.TargetRef{Kind: "MeshHTTPRoute", Name: "r"}, nil, false},
	} {
		if got, ok := tagsOf(&c.ref); ok != c.ok || ok && !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v %v, want %v %v", c.ref, got, ok, c.want, c.ok)
		}
	}
}
