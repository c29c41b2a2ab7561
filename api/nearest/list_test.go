package nearest_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/nearest"
)

// Words find what Nearest finds by comparing with each word, be they long, alike, of other letters
// or the same twice.
func TestWordsFindTheNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.StringMatching(`[ab-]{0,6}`), rapid.StringMatching(`(svc|SVC|web)-[0-9]{1,3}(_default)?`), rapid.StringMatching(`[abİé]{0,5}`), rapid.StringMatching(`[ab]{58,70}`))
		words := rapid.SliceOfN(word, 0, 40).Draw(t, "words")
		x := nearest.NewList(slices.Clone(words))
		for range 5 {
			ask, limit := word.Draw(t, "word"), rapid.IntRange(0, 50).Draw(t, "limit")
			if want, got := nearest.To(ask, words, limit), x.Nearest(ask, limit); !slices.Equal(want, got) {
				t.Fatalf("near %q: %q by comparing with each, %q as words", ask, want, got)
			}
		}
	})
}

// BenchmarkNearest looks among 10,000 names for what a name may be a misspelling of.
func BenchmarkNearest(b *testing.B) {
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("service-%d", i))
	}
	words := nearest.NewList(names)
	for _, name := range []string{"nobody-17", "servcie-17"} {
		b.Run(name+" of a list", func(b *testing.B) {
			for b.Loop() {
				nearest.To(name, names, 3)
			}
		})
		b.Run(name+" of words", func(b *testing.B) {
			for b.Loop() {
				words.Nearest(name, 3)
			}
		})
	}
}
