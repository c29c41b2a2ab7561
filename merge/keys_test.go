package merge_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/merge"
)

// said is an item of which only the key matters to the merge.
type said struct{ Key, N int }

func keyOf(s *said) int { return s.Key }

func anySaid(t *rapid.T) []said {
	var out []said
	for n, key := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 12).Draw(t, "keys") {
		out = append(out, said{key, n})
	}
	return out
}

// TestGroups: nothing is lost, a group has one key and each key one group, and
// items and groups stay in order.
func TestGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := anySaid(t)
		groups := merge.ByKey(items, keyOf)
		keys, firsts, total := map[int]bool{}, -1, 0
		for _, g := range groups {
			if keys[g[0].Key] || g[0].N < firsts {
				t.Fatalf("%v: a key has two groups, or they are out of order", groups)
			}
			keys[g[0].Key], firsts, total = true, g[0].N, total+len(g)
			if slices.ContainsFunc(g, func(s said) bool { return s.Key != g[0].Key }) || !slices.IsSortedFunc(g, func(a, b said) int { return a.N - b.N }) {
				t.Fatalf("%v is no group in order", g)
			}
		}
		if total != len(items) {
			t.Fatalf("%d items of %d", total, len(items))
		}
	})
}

// TestWhoWins: the first or last of each key, in its place, over all others of it.
func TestWhoWins(t *testing.T) {
	t.Parallel()
	items := []said{{1, 0}, {2, 1}, {1, 2}, {3, 3}, {2, 4}, {1, 5}}
	for name, c := range map[string]struct {
		got, want []merge.Won[said]
	}{
		"first": {merge.FirstWins(items, keyOf), []merge.Won[said]{
			{said{1, 0}, []said{{1, 2}, {1, 5}}}, {said{2, 1}, []said{{2, 4}}}, {said{3, 3}, []said{}}}},
		"last": {merge.LastWins(items, keyOf), []merge.Won[said]{
			{said{3, 3}, []said{}}, {said{2, 4}, []said{{2, 1}}}, {said{1, 5}, []said{{1, 0}, {1, 2}}}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s wins: %s", name, diff)
		}
	}
	if !slices.Equal(items, []said{{1, 0}, {2, 1}, {1, 2}, {3, 3}, {2, 4}, {1, 5}}) {
		t.Errorf("the items changed: %v", items)
	}
}

// TestGroupsDoNotShare: appending to one group leaves the others alone.
func TestGroupsDoNotShare(t *testing.T) {
	t.Parallel()
	groups := merge.ByKey([]said{{1, 0}, {2, 1}}, keyOf)
	_ = append(groups[0], said{9, 9})
	if groups[1][0].N != 1 {
		t.Fatalf("the second group is %v", groups[1])
	}
}
