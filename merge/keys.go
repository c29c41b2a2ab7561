package merge

import "slices"

// ByKey puts together items that have one key: the groups in the order of their
// first items, each in the order given.
func ByKey[K comparable, T any](items []T, key func(*T) K) [][]T {
	at := make(map[K]int, len(items))
	group, sizes := make([]int, len(items)), make([]int, 0, len(items))
	for i := range items {
		k := key(&items[i])
		g, known := at[k]
		if !known {
			g = len(sizes)
			at[k], sizes = g, append(sizes, 0)
		}
		group[i] = g
		sizes[g]++
	}
	out, room := make([][]T, len(sizes)), make([]T, len(items)) // one allocation for all groups
	for g, n := range sizes {
		out[g], room = room[:0:n], room[n:]
	}
	for i, g := range group {
		out[g] = append(out[g], items[i])
	}
	return out
}

// Won is an item that holds, with those of its key that do not, in the order given.
type Won[T any] struct {
	Item T
	Over []T
}

// FirstWins keeps of the items with one key the first, in its place.
func FirstWins[K comparable, T any](items []T, key func(*T) K) []Won[T] {
	groups := ByKey(items, key)
	out := make([]Won[T], len(groups))
	for i, g := range groups {
		out[i] = Won[T]{g[0], g[1:]}
	}
	return out
}

// LastWins keeps of the items with one key the last, in its place.
func LastWins[K comparable, T any](items []T, key func(*T) K) []Won[T] {
	backward := slices.Clone(items)
	slices.Reverse(backward)
	out := FirstWins(backward, key)
	slices.Reverse(out)
	for i := range out {
		slices.Reverse(out[i].Over)
	}
	return out
}
