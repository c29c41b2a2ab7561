package convert

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Pair is what holds at one place before and after a translation.
type Pair struct{ Before, After route.Composition }

// Pairs are those of all places for which something was written.
func Pairs(objects []*api.Object, o Options) []Pair {
	c := translate(objects, o)
	after := c.read(c.target, o.Kind, c.out.Objects, false)
	var out []Pair
	for _, key := range slices.Sorted(maps.Keys(c.taken)) {
		w := c.taken[key]
		before := route.Composition{Unmatched: w.unmatched}
		for _, l := range w.all {
			before.Rows = append(before.Rows, route.Row{Composed: l.Composed, Match: l.Match})
		}
		for _, to := range w.To {
			if to.Kind == api.KindService {
				to.Kind = api.KindMeshService
			}
			made := c.target.Compose(frontendOf(to), after.of(to))
			if made.Unmatched != nil {
				made.Unmatched = named(made.Unmatched, to, map[*route.Composed]*route.Composed{})
			}
			out = append(out, Pair{before, made})
		}
	}
	return out
}

// Does is what a rule does with a request for a path, in one text.
func Does(c *route.Composed, on *route.Condition, path string) string {
	if c == nil {
		return "nothing"
	}
	return effect(c, on, &route.Condition{On: route.OnPath, Op: route.Equal, Value: path}, 8080)
}
