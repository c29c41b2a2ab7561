package resolve

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Those who have to do with a name are those that a plain map would have, in each of two
// revisions derived from one; no edit reaches the revision that it began from.
func TestARosterIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, was := drawRoster(t, "from", newRoster(), map[string][]string{}, map[string]uint32{})
		one, left := drawRoster(t, "one", from, was.links, was.numbers)
		two, right := drawRoster(t, "two", from, was.links, was.numbers)
		sameRoster(t, from, was.links)
		sameRoster(t, one, left.links)
		sameRoster(t, two, right.links)
	})
}

// drawn is what the roster should be: names by dataplane, and its number.
type drawn struct {
	links   map[string][]string
	numbers map[string]uint32
}

func drawRoster(t *rapid.T, label string, c roster, links map[string][]string, numbers map[string]uint32) (roster, drawn) {
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
			e.relink(callsIt, n, nil, names)
		case rapid.Bool().Draw(t, "remove "+key):
			e.relink(callsIt, n, now.links[key], nil)
			e.release(n)
			delete(now.links, key)
			delete(now.numbers, key)
			continue
		default:
			e.relink(callsIt, n, now.links[key], names)
		}
		now.links[key], now.numbers[key] = names, n
	}
	return e.commit(), now
}

func sameRoster(t *rapid.T, c roster, links map[string][]string) {
	t.Helper()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		var want []string
		for key, names := range links {
			if slices.Contains(names, name) {
				want = append(want, key)
			}
		}
		if got := slices.Sorted(c.of(callsIt, name)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Fatalf("%s is called by %v, want %v", name, got, want)
		}
	}
}
