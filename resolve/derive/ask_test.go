package derive_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/derive"
)

// TestWhatChangesIsDependent: where one key of a source changes, only keys that
// depend on it come out differently, through what was read before or is read now.
func TestWhatChangesIsDependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		w := l.empty()
		for range rapid.IntRange(1, 5).Draw(t, "updates") {
			w, _ = l.drawUpdate(t, w)
		}
		n, key := rapid.IntRange(0, l.sources-1).Draw(t, "source"), rapid.SampledFrom(keyNames).Draw(t, "key")
		c := l.collections[n]
		change := c.Delete(key)
		if rapid.Bool().Draw(t, "put") {
			change = c.Put(key, &value{rapid.IntRange(0, 4).Draw(t, "number"), []string{rapid.SampledFrom(tagNames).Draw(t, "tag")}})
		}
		after, delta := w.graph.Update(change)
		dependents := l.dependents(derive.Key{Collection: c.Name(), Key: key}, w.graph, after)
		for _, d := range l.collections[l.sources:] {
			for _, changed := range d.Changed(delta) {
				if !dependents[derive.Key{Collection: d.Name(), Key: changed}] {
					t.Fatalf("%s %s changed with %s %s, and depends on other things: %v", d.Name(), changed, c.Name(), key, dependents)
				}
			}
		}
	})
}

// dependents are those of a key in any of the graphs, and theirs in any.
func (l *layout) dependents(of derive.Key, graphs ...*derive.Graph) map[derive.Key]bool {
	out := map[derive.Key]bool{}
	for todo := []derive.Key{of}; len(todo) > 0; todo = todo[1:] {
		for _, c := range l.collections {
			for _, g := range graphs {
				if c.Name() != todo[0].Collection {
					continue
				}
				for _, d := range c.Dependents(g, todo[0].Key) {
					if !out[d] {
						out[d] = true
						todo = append(todo, d)
					}
				}
			}
		}
	}
	return out
}

// TestInputsAreDependentsReversed: what a value was made from are the keys of
// sources that it depends on, and no others.
func TestInputsAreDependentsReversed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		w := l.empty()
		for range rapid.IntRange(1, 5).Draw(t, "updates") {
			w, _ = l.drawUpdate(t, w)
		}
		for n := range l.sources {
			for key := range w.sources[n] {
				source := derive.Key{Collection: l.collections[n].Name(), Key: key}
				dependents := l.collections[n].Dependents(w.graph, key)
				for _, d := range l.collections[l.sources:] {
					for of, v := range d.All(w.graph) {
						depends := slices.Contains(dependents, derive.Key{Collection: d.Name(), Key: of})
						if made := slices.Contains(d.Inputs(w.graph, of), source); made != depends {
							t.Fatalf("%s %s = %s is made from %v: %v, depends on it: %v", d.Name(), of, v, source, made, depends)
						}
					}
				}
			}
		}
	})
}
