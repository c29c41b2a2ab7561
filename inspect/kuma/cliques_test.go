package kuma

import (
	"fmt"
	"slices"
	"testing"
)

// either are sets of one tag each, of which a choice for each key can hold together.
func either(keys int) (groups []group, all []int) {
	for k := range keys {
		for _, v := range []string{"a", "b"} {
			all = append(all, len(groups))
			groups = append(groups, group{tags: tags{{Key: fmt.Sprint("k", k), Value: v}}})
		}
	}
	return groups, all
}

// All largest groups are found, each once, and a search that ends early says so.
func TestMaximalCliques(t *testing.T) {
	t.Parallel()
	for keys, want := range map[int]int{1: 2, 3: 8, 7: 128, 8: maxCliques, 12: maxCliques} {
		groups, all := either(keys)
		got, cut := maximalCliques(groups, all)
		if len(got) != want || cut != (want == maxCliques) {
			t.Errorf("%d keys: %d cliques, cut %v; want %d", keys, len(got), cut, want)
		}
		if !slices.IsSortedFunc(got, slices.Compare[[]int]) || len(slices.CompactFunc(slices.Clone(got), slices.Equal[[]int])) != len(got) {
			t.Errorf("%d keys: out of order, or twice the same", keys)
		}
		for _, c := range got {
			if len(c) != keys || extendable(groups, c) {
				t.Errorf("%d keys: %v is not a largest group", keys, c)
			}
		}
	}
}
