package resolve

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

var anyName = rapid.Custom(func(t *rapid.T) string {
	id := "spiffe://" + rapid.SampledFrom([]string{"a", "ab"}).Draw(t, "domain")
	for _, s := range rapid.SliceOfN(rapid.SampledFrom([]string{"x", "xy", "y"}), 0, 3).Draw(t, "path") {
		id += "/" + s
	}
	return id
})

// TestCallers: whoever has an ID is told by the first of those that it is among all that
// matches say of it, whatever order the rules come in; and nobody is told more.
func TestCallers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var items []*index.Item
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			it := &index.Item{}
			for range rapid.IntRange(0, 2).Draw(t, "matches") {
				it.Matches = append(it.Matches, policies.ClientMatch{SpiffeID: &policies.ValueMatch{
					Type: rapid.SampledFrom([]string{"Exact", "Prefix"}).Draw(t, "type"), Value: anyName.Draw(t, "value")}})
			}
			items = append(items, it)
		}
		name := anyName.Draw(t, "caller") + "/" + "z"[:rapid.IntRange(0, 1).Draw(t, "more")]
		if name[len(name)-1] == '/' {
			name = name[:len(name)-1]
		}
		list := index.CallersOf(items)
		if !slices.Equal(list, index.CallersOf(rapid.Permutation(items).Draw(t, "order"))) {
			t.Fatal("the order of rules matters")
		}
		at := slices.IndexFunc(list, func(c effective.CallerMatch) bool { return c.Have([]string{name}) })
		for _, it := range items {
			want := len(it.Matches) == 0 || slices.ContainsFunc(it.Matches, func(m policies.ClientMatch) bool {
				return m.SpiffeID.Value == name || m.SpiffeID.Type == "Prefix" && spiffe.Under(name, m.SpiffeID.Value)
			})
			got := len(it.Matches) == 0
			if at >= 0 {
				got = it.About(list[at])
			}
			if got != want {
				t.Fatalf("%s: a rule with %+v is applied: %v, among %+v", name, it.Matches, got, list)
			}
		}
	})
}

// TestNamesOfOtherDomains: what a certificate names behind a name of another domain proves
// nothing (spec/identity.md 0, F2).
func TestNamesOfOtherDomains(t *testing.T) {
	t.Parallel()
	c := effective.CallerMatch{ID: "spiffe://a/web"}
	for names, want := range map[[2]string]bool{
		{"spiffe://a/web", "kuma://version/v1"}: true,
		{"spiffe://a/api", "spiffe://a/web"}:    true,
		{"spiffe://b/web", "spiffe://a/web"}:    false,
		{"spiffe://ab/web", "spiffe://a/web"}:   false,
	} {
		if c.Have(names[:]) != want {
			t.Errorf("%v: %v", names, !want)
		}
	}
	if c.Have(nil) {
		t.Error("a caller without a certificate is one of a's")
	}
}
