package derive

import (
	"cmp"
	"slices"
)

// Key is one key of a collection.
type Key struct{ Collection, Key string }

// Dependents are the keys of later collections that depend on a key, directly or
// through others, by collection and key: whom its change may concern. The key
// need not be there: who looked for it depends on it.
func (c *Collection[T]) Dependents(g *Graph, key string) []Key {
	w := walk{Graph: g, seen: map[id]bool{}, next: (*walk).dependents}
	w.from(c.c, key)
	return w.keys(func(x *collection) bool { return x != c.c })
}

// Inputs are the keys of sources that the value of a key was made from, directly
// or through others, by collection and key.
func (c *Collection[T]) Inputs(g *Graph, key string) []Key {
	return g.inputs(c.c, key)
}

func (g *Graph) inputs(c *collection, key string) []Key {
	w := walk{Graph: g, seen: map[id]bool{}, next: (*walk).inputs}
	w.from(c, key)
	return w.keys(func(x *collection) bool { return x.over == nil })
}

// Failure is a key that failed, and the keys of sources that it was to be made from.
type Failure struct {
	Key
	*Failed
	Inputs []Key
}

// Failures are those of all collections, by collection and key, but for keys that
// failed only because of what they read.
func (g *Graph) Failures() []Failure {
	if g.failed.size == 0 {
		return nil
	}
	var out []Failure
	for n := range g.failed.from(0) {
		x := g.cell(n)
		if g.passesOn(x) {
			continue
		}
		c := g.schema.spaces[x.space].of
		out = append(out, Failure{Key{c.name, x.key}, x.state.(*Failed), g.inputs(c, x.key)})
	}
	numbers := g.schema.numbers()
	slices.SortFunc(out, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(numbers[a.Collection], numbers[b.Collection]), cmp.Compare(a.Key.Key, b.Key.Key))
	})
	return out
}

// passesOn reports whether x failed as something that it read.
func (g *Graph) passesOn(x *cell) bool {
	return slices.ContainsFunc(x.reads, func(n id) bool {
		f, failed := g.cell(n).state.(*Failed)
		return failed && *f == *x.state.(*Failed)
	})
}

func (s *Schema) numbers() map[string]int {
	out := map[string]int{}
	for i, c := range s.collections {
		out[c.name] = i
	}
	return out
}

// walk visits everything that one number leads to.
type walk struct {
	*Graph
	seen map[id]bool
	todo []id
	next func(w *walk, x *cell, n id)
}

func (w *walk) from(c *collection, key string) {
	w.name(name{c.values, key})
	for len(w.todo) > 0 {
		n := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.next(w, w.cell(n), n)
	}
}

func (w *walk) visit(n id) {
	if !w.seen[n] {
		w.seen[n] = true
		w.todo = append(w.todo, n)
	}
}

func (w *walk) name(n name) {
	if known, ok := w.names.get(n); ok {
		w.visit(known)
	}
}

// dependents visits who read x, and what x is a part or the reason of.
func (w *walk) dependents(x *cell, n id) {
	for by := range w.readersOf(n) {
		w.visit(by)
	}
	at := w.schema.spaces[x.space]
	switch {
	case at.index != nil:
		w.followers(&at.index.keys, x.key)
	case x.space == at.of.values:
		w.name(name{space: at.of.whole})
		w.followers(&at.of.keys, x.key)
		for i, buckets := range at.of.bucketsOf(x.key, x.state) {
			for _, bucket := range buckets {
				w.name(name{at.of.indexes[i].buckets, bucket})
			}
		}
	}
}

func (w *walk) followers(k *keys, key string) {
	for _, c := range k.followers {
		w.name(name{c.values, key})
	}
}

// inputs visits what x read, what it consists of, and why its key is there.
func (w *walk) inputs(x *cell, n id) {
	for _, what := range x.reads {
		w.visit(what)
	}
	at := w.schema.spaces[x.space]
	switch {
	case at.index != nil && at.index.group:
		w.grouped.each(readOf(n, 0), func(r read, _ none) bool {
			if r.what() == n {
				w.visit(r.by())
			}
			return r.what() == n
		})
	case at.index != nil:
		w.within(uint32(n), &w.members)
	case x.space == at.of.whole:
		w.within(at.of.values, &w.names)
	default:
		for _, k := range at.of.over {
			if k.index != nil {
				w.name(name{k.index.buckets, x.key})
			} else {
				w.name(name{k.collection.values, x.key})
			}
		}
	}
}

func (w *walk) within(space uint32, names *tree[name, id]) {
	for k, n := range names.from(name{space: space}) {
		if k.space != space {
			return
		}
		w.visit(n)
	}
}

// keys are those of the visited collections, by collection and key.
func (w *walk) keys(of func(*collection) bool) []Key {
	var found []*cell
	for n := range w.seen {
		x := w.cell(n)
		if at := w.schema.spaces[x.space]; at.index == nil && x.space == at.of.values && of(at.of) && (x.state != nil || x.live) {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(a, b *cell) int { return a.name.compare(b.name) })
	out := make([]Key, len(found))
	for i, x := range found {
		out[i] = Key{w.schema.spaces[x.space].of.name, x.key}
	}
	return out
}
