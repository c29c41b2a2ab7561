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
func Pairs(objects []*api.Object, o Options) []Pair { return pairs(translate(objects, o)) }

// Own prints the objects of a language in their own language, and says what holds at each
// place before and after.
func Own(objects []*api.Object, o Options) (Result, []Pair) {
	c := converterOf(objects, o)
	tables := c.tablesOf(c.target, o.Kind)
	c.objects = slices.DeleteFunc(slices.Clone(objects), func(x *api.Object) bool { return x.Kind == o.Kind })
	c.write(tables)
	return c.out, pairs(c)
}

func pairs(c *converter) []Pair {
	o := c.Options
	after := c.read(c.target, o.Kind, c.out.Objects, false)
	var out []Pair
	for _, key := range slices.Sorted(maps.Keys(c.taken)) {
		w := c.taken[key]
		before := route.Composition{Unmatched: w.unmatched}
		for _, l := range w.all {
			before.Rows = append(before.Rows, route.Row{Composed: l.Composed, Match: l.Match})
		}
		for _, to := range w.places() {
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

// Traced is what is translated, and of which rules of the source each rule of it has come.
func Traced(objects []*api.Object, o Options) (Result, map[route.Place][]string) {
	c := translate(objects, o)
	from := map[route.Place][]string{}
	for _, w := range c.taken {
		for place, lines := range w.printed.From {
			from[place] = nil
			for _, l := range lines {
				from[place] = append(from[place], w.called(l))
			}
		}
	}
	return c.out, from
}
