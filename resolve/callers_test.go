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

// TestCallers: whoever has an ID, and names beside it, is told by the first of those that it is among all that
// items say of it, whatever order they come in; and nobody is told more.
func TestCallers(t *testing.T) {
	t.Parallel()
	tags := []string{"kuma://a/1", "kuma://b/1", "kuma://c/1"}
	some := func(t *rapid.T, what string) (out []string) {
		for _, name := range tags {
			if rapid.IntRange(0, 2).Draw(t, what+name) == 0 {
				out = append(out, name)
			}
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		var items []index.CallerItem
		for range rapid.IntRange(0, 6).Draw(t, "items") {
			it := index.Item{}
			for range rapid.IntRange(0, 2).Draw(t, "matches") {
				it.Matches = append(it.Matches, policies.ClientMatch{SpiffeID: &policies.ValueMatch{
					Type: rapid.SampledFrom([]string{"Exact", "Prefix"}).Draw(t, "type"), Value: anyName.Draw(t, "value")}})
			}
			told := it.WithMatches()
			for i := range told.By {
				told.By[i].Also = effective.AlsoNamed(some(t, "wants"))
			}
			items = append(items, told)
		}
		name := anyName.Draw(t, "caller") + "/" + "z"[:rapid.IntRange(0, 1).Draw(t, "more")]
		if name[len(name)-1] == '/' {
			name = name[:len(name)-1]
		}
		names := append([]string{name}, some(t, "has")...)
		list := index.CallersOf(items)
		if !slices.Equal(list, index.CallersOf(rapid.Permutation(items).Draw(t, "order"))) {
			t.Fatal("the order of items matters")
		}
		at := slices.IndexFunc(list, func(c effective.CallerMatch) bool { return c.Have(names) })
		for i := range items {
			it := &items[i]
			want := it.All
			for n, m := range it.Matches {
				is := m.SpiffeID.Value == name || m.SpiffeID.Type == "Prefix" && spiffe.Under(name, m.SpiffeID.Value)
				want = want || is && !slices.ContainsFunc(it.By[n].Names(), func(also string) bool { return !slices.Contains(names, also) })
			}
			got := it.All
			if at >= 0 {
				got = it.About(list[at])
			}
			if got != want {
				t.Fatalf("%q: an item with %+v is applied: %v, among %+v", names, it.By, got, list)
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
	tagged := effective.CallerMatch{ID: "spiffe://a", Below: true, Also: effective.AlsoNamed([]string{"kuma://version/v1"})}
	for names, want := range map[[2]string]bool{
		{"spiffe://a/web", "kuma://version/v1"}: true,
		{"spiffe://a/web", "kuma://version/v2"}: false,
		{"spiffe://b/web", "kuma://version/v1"}: false,
		{"kuma://version/v1", "spiffe://a/web"}: false,
	} {
		if tagged.Have(names[:]) != want {
			t.Errorf("tagged, %v: %v", names, !want)
		}
	}
	if c.Have(nil) {
		t.Error("a caller without a certificate is one of a's")
	}
}
