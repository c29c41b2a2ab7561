package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/derive"
)

// world is a graph with what its sources hold.
type world struct {
	graph   *derive.Graph
	sources []map[string]*value
	records map[string]*record // the last run of each derivation
}

func (l *layout) empty() *world {
	w := &world{graph: l.schema.New(), records: map[string]*record{}}
	for range l.sources {
		w.sources = append(w.sources, map[string]*value{})
	}
	return w
}

// drawUpdate changes the sources of a world at random.
func (l *layout) drawUpdate(t *rapid.T, w *world) (*world, *derive.Delta) {
	next := &world{records: maps.Clone(w.records)}
	for _, s := range w.sources {
		next.sources = append(next.sources, maps.Clone(s))
	}
	var changes []derive.Change
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		n, key := rapid.IntRange(0, l.sources-1).Draw(t, "source"), rapid.SampledFrom(keyNames).Draw(t, "key")
		if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			changes = append(changes, l.collections[n].Delete(key))
			delete(next.sources[n], key)
			continue
		}
		v := &value{rapid.OneOf(rapid.IntRange(0, 4), rapid.IntRange(cursed, cursed+2)).Draw(t, "number"),
			rapid.SliceOfNDistinct(rapid.SampledFrom(append(tagNames, keyNames...)), 0, 2, rapid.ID[string]).Draw(t, "tags")}
		changes = append(changes, l.collections[n].Put(key, v))
		next.sources[n][key] = v
	}
	l.log = nil
	var delta *derive.Delta
	next.graph, delta = w.graph.Update(changes...)
	return next, delta
}

// clean is a graph from nothing with the same sources.
func (l *layout) clean(w *world) *derive.Graph {
	log := l.log
	defer func() { l.log = log }()
	var changes []derive.Change
	for n, s := range w.sources {
		for key, v := range s {
			changes = append(changes, l.collections[n].Put(key, v))
		}
	}
	g, _ := l.schema.New().Update(changes...)
	return g
}

// dump is everything that a graph answers.
func (l *layout) dump(g *derive.Graph) []string {
	var out []string
	for n, c := range l.collections {
		for key, v := range c.All(g) {
			out = append(out, fmt.Sprintf("%d %s = %s", n, key, v))
			out = append(out, fmt.Sprintf("%d %s dependents %v inputs %v", n, key, c.Dependents(g, key), c.Inputs(g, key)))
		}
		for _, tag := range append(tagNames, keyNames...) {
			for key := range l.indexes[n].In(g, tag) {
				out = append(out, fmt.Sprintf("%d tag %s has %s", n, tag, key))
			}
		}
	}
	for _, f := range g.Failures() {
		out = append(out, fmt.Sprintf("%v fails: %v inputs %v", f.Key, f.Error(), f.Inputs))
	}
	return out
}

// TestUpdateEqualsNew: after any changes a graph answers what one from nothing
// answers, keeps no more and no less, and its branches leave it as it is.
func TestUpdateEqualsNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		worlds := []*world{l.empty()}
		var dumps [][]string
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			next, _ := l.drawUpdate(t, worlds[rapid.IntRange(0, len(worlds)-1).Draw(t, "of")])
			clean := l.clean(next)
			dump := l.dump(next.graph)
			if diff := cmp.Diff(l.dump(clean), dump); diff != "" {
				t.Fatalf("new (-) and updated (+) differ:\n%s", diff)
			}
			if diff := cmp.Diff(clean.Kept(), next.graph.Kept()); diff != "" {
				t.Fatalf("new (-) and updated (+) keep different things:\n%s", diff)
			}
			worlds, dumps = append(worlds, next), append(dumps, dump)
		}
		for i, w := range worlds[1:] {
			if diff := cmp.Diff(dumps[i], l.dump(w.graph)); diff != "" {
				t.Fatalf("version %d is no longer what it was:\n%s", i, diff)
			}
		}
	})
}

// TestChangesAreExact: pointers are kept where values are equal and only there,
// and the keys whose pointer is another one are those that are named.
func TestChangesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		w := l.empty()
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			next, delta := l.drawUpdate(t, w)
			for n, c := range l.collections {
				changed := map[string]bool{}
				for _, key := range append(keyNames, tagNames...) {
					l.checkPointer(t, n, key, w.graph, next.graph)
					before, was := c.Get(w.graph, key)
					after, is := c.Get(next.graph, key)
					if before != after || was != is {
						changed[key] = true
					}
				}
				if got := c.Changed(delta); !slices.Equal(got, slices.Sorted(maps.Keys(changed))) {
					t.Fatalf("%s: changed are %v, named are %v", c.Name(), changed, got)
				}
			}
			w = next
		}
	})
}

// checkPointer holds that the value of a key is the one before if it is equal, and
// in an interned collection one with every equal value before and now.
func (l *layout) checkPointer(t *rapid.T, n int, key string, before, after *derive.Graph) {
	c := l.collections[n]
	v, failed := c.Get(after, key)
	old, oldFailed := c.Get(before, key)
	if failed != nil && oldFailed != nil && (failed == oldFailed) != (*failed == *oldFailed) {
		t.Fatalf("%s %s: failures %v and %v, one pointer: %v", c.Name(), key, oldFailed, failed, failed == oldFailed)
	}
	if v == nil || v.number == cursed+1 { // which cannot be compared
		return
	}
	if old != nil && old.number != cursed+1 && (old == v) != equalValues(old, v) {
		t.Fatalf("%s %s: %s was %s, one pointer: %v", c.Name(), key, v, old, old == v)
	}
	if !l.interned[n] {
		return
	}
	for _, g := range []*derive.Graph{before, after} {
		for other, x := range c.All(g) {
			if x.number != cursed+1 && (x == v) != equalValues(x, v) {
				t.Fatalf("%s: %s is %s and %s is %s, one pointer: %v", c.Name(), key, v, other, x, x == v)
			}
		}
	}
}

// TestDerivationsRunOnlyWhereNeeded: a derivation runs once if its key is new or
// if a read of its last run would now give something else, and else it does not.
func TestDerivationsRunOnlyWhereNeeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		w := l.empty()
		for range rapid.IntRange(1, 8).Draw(t, "updates") {
			next, delta := l.drawUpdate(t, w)
			ran, counts := map[string]*record{}, map[int]int{}
			for _, r := range l.log {
				id := fmt.Sprint(r.of, " ", r.key)
				if ran[id] != nil {
					t.Fatalf("%s ran twice", id)
				}
				ran[id] = r
				counts[r.of]++
			}
			next.records = map[string]*record{}
			for n := l.sources; n < len(l.collections); n++ {
				if got := l.collections[n].Ran(delta); got != counts[n] {
					t.Fatalf("%d derivations of %d ran, %d are counted", counts[n], n, got)
				}
				for _, key := range l.keysOver(n, next.graph) {
					id := fmt.Sprint(n, " ", key)
					last := w.records[id]
					needed := last == nil || l.wouldDiffer(last, next.graph)
					if needed != (ran[id] != nil) {
						t.Fatalf("%s: needed %v, ran %v", id, needed, ran[id] != nil)
					}
					if next.records[id] = last; needed {
						next.records[id] = ran[id]
					}
					delete(ran, id)
				}
			}
			if len(ran) > 0 {
				t.Fatalf("%v ran without their keys", slices.Sorted(maps.Keys(ran)))
			}
			w = next
		}
	})
}

// keysOver are the keys that collection n has derivations for.
func (l *layout) keysOver(n int, g *derive.Graph) []string {
	var out []string
	for _, key := range append(keyNames, tagNames...) {
		if slices.ContainsFunc(l.over[n], func(of int) bool { return l.isIn(of, g, key) }) {
			out = append(out, key)
		}
	}
	return out
}

func (l *layout) isIn(of int, g *derive.Graph, key string) bool {
	if of >= 0 {
		v, _ := l.collections[of].Get(g, key)
		return v != nil
	}
	for range l.indexes[-1-of].In(g, key) {
		return true
	}
	return false
}

func (l *layout) wouldDiffer(r *record, g *derive.Graph) bool {
	return slices.ContainsFunc(r.answers, func(a answer) bool {
		_, text := l.read(g, a.step, a.key)
		return text != a.text
	})
}
