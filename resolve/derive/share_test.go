package derive_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/resolve/derive"
)

// TestEqualPartsAreShared: a value that came out differently has the parts that
// did not, and one of which all parts did not is the one before.
func TestEqualPartsAreShared(t *testing.T) {
	t.Parallel()
	type whole struct{ parts []*value }
	s := &derive.Schema{}
	source := derive.Source(s, "source", derive.Values[value]{})
	var wholes *derive.Collection[whole]
	wholes = derive.Derive(s, "wholes", source, derive.Values[whole]{
		Equal: func(a, b *whole) bool { return slices.Equal(a.parts, b.parts) },
	}, func(r *derive.Reader, key string) *whole {
		v, _ := source.Get(r, key)
		made := &whole{[]*value{{number: v.number / 100}, {number: v.number % 100}}}
		before := wholes.Before(r)
		if before == nil {
			return made
		}
		for i, p := range made.parts {
			if p.number == cursed {
				panic("cannot be taken over")
			}
			if before.parts[i].number == p.number {
				made.parts[i] = before.parts[i]
			}
		}
		return made
	})
	put := func(g *derive.Graph, number int) (*derive.Graph, *whole) {
		g, _ = g.Update(source.Put("a", &value{number: number}))
		w, _ := wholes.Get(g, "a")
		return g, w
	}
	g, first := put(s.New(), 102)
	if _, same := put(g, 102); same != first {
		t.Error("an equal value has another pointer")
	}
	if _, other := put(g, 103); other == first || other.parts[0] != first.parts[0] || other.parts[1] == first.parts[1] {
		t.Errorf("of %v %v only the second part is new", first.parts, other.parts)
	}
	if _, other := put(g, 100+cursed); other == nil || other.parts[1].number != cursed {
		t.Errorf("what fails only with what was before is lost: %v", other)
	}
}
