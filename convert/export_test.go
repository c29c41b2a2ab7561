package convert

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Pair is what holds at one place before and after a translation. Bare says that none of
// the rules of before is written.
type Pair struct {
	Before, After route.Composition
	Bare          bool
}

// Pairs are those of all places for which something was written.
func Pairs(objects []*api.Object, o Options) []Pair {
	var out []Pair
	for _, c := range translate(objects, o) {
		out = append(out, pairs(c)...)
	}
	return out
}

// Own prints the objects of a language in their own language, and says what holds at each
// place before and after. Read are the notes of reading alone.
func Own(objects []*api.Object, o Options) (result Result, all []Pair, read []api.Note) {
	c := converterOf(objects, o)
	tables := c.tablesOf(c.target, o.Kind, map[string]*api.Object{})
	read = slices.Clone(c.out.Notes)
	c.objects = slices.DeleteFunc(slices.Clone(objects), func(x *api.Object) bool { return x.Kind == o.Kind })
	c.write(tables)
	sortNotes(c.out.Notes)
	return c.out, pairs(c), read
}

func pairs(c *converter) []Pair {
	o := c.Options
	after := c.read(c.target, o.Kind, c.out.Objects, false)
	var out []Pair
	for _, key := range slices.Sorted(maps.Keys(c.taken)) {
		w := c.taken[key]
		before := route.Composition{Default: w.unmatched}
		for _, l := range w.all {
			before.Rows = append(before.Rows, route.Row{MergedRule: l.MergedRule, Match: l.Match})
		}
		for _, to := range w.places() {
			made := c.target.Compose(frontendOf(to), after.of(to))
			if made.Default != nil {
				made.Default = named(made.Default, to, map[*route.MergedRule]*route.MergedRule{})
			}
			out = append(out, Pair{before, made, w.bare()})
		}
	}
	return out
}

// bare reports whether none of the rules of the source is written.
func (w *work) bare() bool {
	return len(w.lines) == 0 || w.ended && len(w.lines) == 1
}

// Does is what a rule does with a request for a path, in one text.
func Does(c *route.MergedRule, on *match.Condition, path string) string {
	if c == nil {
		return "nothing"
	}
	return effect(c, on, &match.Condition{On: match.OnPath, Op: match.Equal, Value: path}, 8080)
}

// Trace is how objects of one mesh were translated.
type Trace struct {
	Tables []Table
	// From are the rules of the source of which each rule has come, as messages name them.
	From map[route.RuleRef][]string
}

// Table is what clients at some places are told.
type Table struct {
	Places []api.TargetRef // where they ask in the source
	By     api.Ref         // whose the notes about the table as a whole are
	// Written says that it has a place, Bare that none of its rules is there.
	Written, Bare bool
	// Objects is how many documents it has come to.
	Objects int
}

// Traced is what is translated, and how.
func Traced(objects []*api.Object, o Options) (Result, Trace) {
	c, tables := begin(objects, o)
	trace := Trace{From: map[route.RuleRef][]string{}}
	for _, t := range tables {
		trace.Tables = append(trace.Tables, Table{Places: slices.Clone(t.To), By: t.by[0].Ref})
	}
	for _, w := range c.write(tables) {
		if !w.printable() {
			continue
		}
		t := &trace.Tables[slices.Index(tables, w.source)]
		t.Written, t.Bare, t.Objects = true, w.bare(), len(w.printed.Objects)
		for place, lines := range w.printed.From {
			trace.From[place] = nil
			for _, l := range lines {
				trace.From[place] = append(trace.From[place], w.called(l))
			}
		}
	}
	return c.out, trace
}

// Seen are the objects of a kind with labels that others see in a conversion.
func Seen(objects []*api.Object, kind string, labels map[string]string) []*api.Object {
	return view{objects: objects}.Objects(kind, labels)
}
