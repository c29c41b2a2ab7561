package merge_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

func anyLayers(t *rapid.T) []merge.Layer {
	var layers []merge.Layer
	for range rapid.IntRange(0, 6).Draw(t, "layers") {
		l := merge.Layer{Name: merge.LayerName(rapid.IntRange(0, 8).Draw(t, "name")), Override: rapid.Bool().Draw(t, "override"), Origin: &api.Origin{Ref: api.Ref{Name: rapid.StringN(1, 4, 4).Draw(t, "origin")}}}
		fields := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 5, rapid.ID).Draw(t, "fields")
		slices.Sort(fields)
		for _, f := range fields {
			l.Leaves = append(l.Leaves, merge.Leaf{Field: f, Value: rapid.Int().Draw(t, "value")})
		}
		layers = append(layers, l)
	}
	return layers
}

// TestFold holds the promises of a fold: every opinion is kept, in order, the
// last one holds, and nothing is invented.
func TestFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		layers := anyLayers(t)
		fields := merge.Fold(layers)
		if !slices.IsSortedFunc(fields, func(a, b merge.Field) int { return a.Field - b.Field }) {
			t.Fatal("not sorted by field")
		}
		want := map[int][]merge.Said{}
		below := uint32(0)
		for _, l := range layers {
			for _, leaf := range l.Leaves {
				want[leaf.Field] = append(want[leaf.Field], merge.Said{Value: leaf.Value, Origin: l.Origin, Layer: l.Name, Override: l.Override, Order: below})
			}
			if len(l.Leaves) > 0 {
				below++ // whatever it is about
			}
		}
		if len(want) != len(fields) {
			t.Fatalf("%d fields of %d", len(fields), len(want))
		}
		for _, f := range fields {
			for i := range want[f.Field][:len(want[f.Field])-1] {
				want[f.Field][i].Lost = merge.ByDefault // no layer has a place
			}
			if diff := cmp.Diff(want[f.Field], f.Said); diff != "" {
				t.Fatal(diff)
			}
			if said := want[f.Field]; f.Value() != said[len(said)-1].Value {
				t.Fatal("the strongest does not hold")
			}
		}
	})
}

// TestWinnersRebuildTheFold: what the losers said has no part in the values.
func TestWinnersRebuildTheFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := merge.Fold(anyLayers(t))
		var winners merge.Layer
		for _, f := range fields {
			winners.Leaves = append(winners.Leaves, merge.Leaf{Field: f.Field, Value: f.Value()})
		}
		again := merge.Fold([]merge.Layer{winners})
		if len(again) != len(fields) {
			t.Fatal("a field was lost")
		}
		for i := range again {
			if again[i].Value() != fields[i].Value() {
				t.Fatalf("field %d: %v, not %v", i, again[i].Value(), fields[i].Value())
			}
		}
	})
}

// TestFoldInSteps: laying layers in two steps gives the same values as in one.
func TestFoldInSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		layers := anyLayers(t)
		cut := rapid.IntRange(0, len(layers)).Draw(t, "cut")
		var below merge.Layer
		for _, f := range merge.Fold(layers[:cut]) {
			below.Leaves = append(below.Leaves, merge.Leaf{Field: f.Field, Value: f.Value()})
		}
		whole, steps := merge.Fold(layers), merge.Fold(append([]merge.Layer{below}, layers[cut:]...))
		if len(whole) != len(steps) {
			t.Fatal("a field was lost")
		}
		for i := range whole {
			if whole[i].Field != steps[i].Field || whole[i].Value() != steps[i].Value() {
				t.Fatalf("field %d differs", whole[i].Field)
			}
		}
	})
}

// TestFoldDoesNotShare: appending to what one field was told leaves the others alone.
func TestFoldDoesNotShare(t *testing.T) {
	t.Parallel()
	l := merge.Layer{Leaves: []merge.Leaf{{Field: 0, Value: 1}, {Field: 1, Value: 2}}}
	fields := merge.Fold([]merge.Layer{l})
	_ = append(fields[0].Said, merge.Said{Value: 9})
	if fields[1].Value() != 2 {
		t.Fatalf("field 1 is %v", fields[1].Value())
	}
}

// at is a place of which the greater number wins by name.
type at int

func (a at) Below(stronger merge.Rank) merge.Criterion {
	if a < stronger.(at) {
		return merge.ByName
	}
	return merge.NotLost
}

// TestLosersSayWhatDecided: each against the one that holds; what holds lost nothing.
func TestLosersSayWhatDecided(t *testing.T) {
	t.Parallel()
	leaf := []merge.Leaf{{Field: 0, Value: 1}}
	said := merge.Fold([]merge.Layer{{Leaves: leaf}, {Leaves: leaf, Place: at(1)}, {Leaves: leaf, Place: at(2)}, {Leaves: leaf, Place: at(3)}})[0].Said
	for i, want := range []string{"default", "name", "name", ""} {
		if got := said[i].Lost.String(); got != want {
			t.Errorf("opinion %d lost by %q, want %q", i, got, want)
		}
	}
}

func TestLayerNames(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"default", "mesh", "service", "port", "host", "include", "inline", "route", "rule"} {
		if got := merge.LayerName(n).String(); got != want {
			t.Errorf("layer %d is %q, want %q", n, got, want)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0, 2, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 {
			return
		}
		var layers []merge.Layer
		last := -1
		for _, b := range data {
			if len(layers) == 0 || int(b) <= last {
				layers, last = append(layers, merge.Layer{}), -1
			}
			l := &layers[len(layers)-1]
			l.Leaves = append(l.Leaves, merge.Leaf{Field: int(b), Value: b})
			last = int(b)
		}
		total := 0
		for _, f := range merge.Fold(layers) {
			total += len(f.Said)
		}
		if total != len(data) {
			t.Fatalf("%d opinions of %d", total, len(data))
		}
	})
}
