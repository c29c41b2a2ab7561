package merge_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// words are lists of texts.
type words struct{}

func (words) Split(value any) (out []any) {
	for _, w := range value.([]string) {
		out = append(out, w)
	}
	return out
}

func (words) Equal(a, b any) bool { return a == b }

func (words) Build(elements []any) any {
	out := []string{}
	for _, e := range elements {
		out = append(out, e.(string))
	}
	return out
}

type opinion struct {
	list     []string
	override bool
	builtIn  bool
}

func joined(opinions ...opinion) merge.Field {
	var layers []merge.Layer
	for i, o := range opinions {
		name := merge.Mesh
		if o.builtIn {
			name = merge.Default
		}
		layers = append(layers, merge.Layer{Name: name, Override: o.override, Origin: &api.Origin{Ref: api.Ref{Name: string(rune('a' + i))}},
			Leaves: []merge.Leaf{{Field: 0, Value: o.list}}})
	}
	f := merge.Fold(layers)[0]
	f.Join(words{})
	return f
}

func TestListsThatAddUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		opinions []opinion
		want     []string
		by       [][]int // of each element, the opinions
		lost     int     // how many opinions hold no more
	}{
		{"one", []opinion{{list: []string{"x", "y"}}}, []string{"x", "y"}, [][]int{{0}, {0}}, 0},
		{"two", []opinion{{list: []string{"x"}}, {list: []string{"y", "x"}}}, []string{"x", "y"}, [][]int{{0, 1}, {1}}, 0},
		{"twice in one", []opinion{{list: []string{"x", "x"}}}, []string{"x"}, [][]int{{0, 0}}, 0},
		{"an override is a ceiling", []opinion{{list: []string{"x"}}, {list: []string{"z"}, override: true}}, []string{"z"}, [][]int{{1}}, 1},
		{"the strongest of two", []opinion{{list: []string{"x"}}, {list: []string{"y"}, override: true}, {list: []string{"z"}, override: true}}, []string{"z"}, [][]int{{2}}, 2},
		{"an empty override takes all away", []opinion{{list: []string{"x"}}, {list: []string{}, override: true}}, []string{}, nil, 1},
		{"built in", []opinion{{list: []string{"b"}, builtIn: true}}, []string{"b"}, [][]int{{0}}, 0},
		{"built in, and somebody writes", []opinion{{list: []string{"b"}, builtIn: true}, {list: []string{"x"}}}, []string{"x"}, [][]int{{1}}, 1},
	} {
		f := joined(c.opinions...)
		if got := f.Value().([]string); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		lost := 0
		for _, s := range f.Said {
			if s.Lost != merge.NotLost {
				lost++
			}
		}
		if lost != c.lost {
			t.Errorf("%s: %d opinions are lost, want %d", c.name, lost, c.lost)
		}
		for i, e := range f.Joined.Elements {
			var by []int
			for _, o := range e.By {
				by = append(by, o.Said)
				if c.opinions[o.Said].list[o.Index] != e.Value {
					t.Errorf("%s: element %d does not stand where it says", c.name, i)
				}
			}
			if !slices.Equal(by, c.by[i]) {
				t.Errorf("%s: element %d is by %v, want %v", c.name, i, by, c.by[i])
			}
		}
	}
}

// TestWhatAddsUpDependsOnTheOrderForPlacesAlone: whoever says something first, the same elements are
// there with as many who say them.
func TestWhatAddsUpDependsOnTheOrderForPlacesAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4), 1, 5).Draw(t, "lists")
		count := func(lists [][]string) map[any]int {
			var all []opinion
			for _, l := range lists {
				all = append(all, opinion{list: l})
			}
			out := map[any]int{}
			for _, e := range joined(all...).Joined.Elements {
				if out[e.Value] != 0 {
					t.Fatalf("%v is there twice", e.Value)
				}
				out[e.Value] = len(e.By)
			}
			return out
		}
		one, other := count(lists), count(rapid.Permutation(lists).Draw(t, "order"))
		if len(one) != len(other) {
			t.Fatalf("%v, and %v in another order", one, other)
		}
		for v, n := range one {
			if other[v] != n {
				t.Fatalf("%v is by %d, and by %d in another order", v, n, other[v])
			}
		}
	})
}
