package resolve

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The callers of a name are those that a plain map would have, in each of two
// revisions derived from one; no edit reaches the revision that it began from.
func TestCallersAreAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, was := drawCallers(t, "from", newCallers(), map[string][]string{}, map[string]uint32{})
		one, left := drawCallers(t, "one", from, was.links, was.numbers)
		two, right := drawCallers(t, "two", from, was.links, was.numbers)
		sameCallers(t, from, was.links)
		sameCallers(t, one, left.links)
		sameCallers(t, two, right.links)
	})
}

// drawn is what the callers should be: names by dataplane, and its number.
type drawn struct {
	links   map[string][]string
	numbers map[string]uint32
}

func drawCallers(t *rapid.T, label string, c callers, links map[string][]string, numbers map[string]uint32) (callers, drawn) {
	now := drawn{maps.Clone(links), maps.Clone(numbers)}
	e := c.edit()
	keys := rapid.SliceOfNDistinct(rapid.StringMatching(`d[0-9]{1,2}`), 0, 12, rapid.ID[string]).Draw(t, label)
	for _, key := range keys {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-e]`), 0, 3, rapid.ID[string]).Draw(t, "names of "+key)
		slices.Sort(names)
		n, known := now.numbers[key]
		switch {
		case !known:
			n = e.number(key)
			e.relink(n, nil, names)
		case rapid.Bool().Draw(t, "remove "+key):
			e.relink(n, now.links[key], nil)
			e.release(n)
			delete(now.links, key)
			delete(now.numbers, key)
			continue
		default:
			e.relink(n, now.links[key], names)
		}
		now.links[key], now.numbers[key] = names, n
	}
	return e.commit(), now
}

func sameCallers(t *rapid.T, c callers, links map[string][]string) {
	t.Helper()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		var want []string
		for key, names := range links {
			if slices.Contains(names, name) {
				want = append(want, key)
			}
		}
		if got := slices.Sorted(c.of(name)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Fatalf("%s is called by %v, want %v", name, got, want)
		}
	}
}
