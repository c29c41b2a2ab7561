package derive_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/derive"
)

// TestBucketsAreWhatValuesSay: the buckets of an index, and how many values are in
// each, are those that a plain map would have.
func TestBucketsAreWhatValuesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &derive.Schema{}
		source := derive.Source(s, "source", derive.Values[value]{})
		tags := func(_ string, v *value, add func(string)) {
			for _, tag := range v.tags {
				add(tag)
			}
		}
		index, group := source.Index(tags), source.Group(tags)
		derive.Derive(s, "over buckets", index, derive.Values[value]{}, func(r *derive.Reader, key string) *value {
			return &value{number: index.Len(r, key)}
		})
		g, known := s.New(), map[string][]string{}
		for range rapid.IntRange(1, 10).Draw(t, "updates") {
			key := rapid.SampledFrom(keyNames).Draw(t, "key")
			if rapid.Bool().Draw(t, "put") {
				known[key] = rapid.SliceOf(rapid.SampledFrom(tagNames)).Draw(t, "tags")
				g, _ = g.Update(source.Put(key, &value{tags: known[key]}))
			} else {
				delete(known, key)
				g, _ = g.Update(source.Delete(key))
			}
			sizes := map[string]int{}
			for _, tags := range known {
				for _, tag := range slices.Compact(slices.Sorted(slices.Values(tags))) {
					sizes[tag]++
				}
			}
			for _, prefix := range append([]string{"", "none"}, tagNames...) {
				want := maps.Clone(sizes)
				maps.DeleteFunc(want, func(tag string, _ int) bool { return !strings.HasPrefix(tag, prefix) })
				got := map[string]int{}
				for bucket := range group.Buckets(g, prefix) {
					for range group.Keys(g, bucket) {
						got[bucket]++
					}
					if index.Len(g, bucket) != got[bucket] {
						t.Fatalf("%q has %d values, and %d keys", bucket, index.Len(g, bucket), got[bucket])
					}
				}
				if !maps.Equal(got, want) {
					t.Fatalf("the buckets that begin with %q hold %v, want %v", prefix, got, want)
				}
			}
		}
		if len(known) == 0 && !g.Empty() {
			t.Fatal("nothing is left, and the graph is not empty")
		}
	})
}

// TestAQuestionStopsWhenNobodyWaits: what a question looks at is counted, and it
// looks at nothing more once it is told so.
func TestAQuestionStopsWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	s := &derive.Schema{}
	source := derive.Source(s, "source", derive.Values[value]{})
	index := source.Index(func(_ string, _ *value, add func(string)) { add("all") })
	g, _ := s.New().Update(source.Put("a", &value{}), source.Put("b", &value{}), source.Put("c", &value{}))
	visited := 0
	at := derive.Counted(g, func() bool {
		visited++
		return visited <= 2
	})
	seen := ""
	for key := range source.All(at) {
		seen += key
	}
	for key := range index.In(at, "all") {
		seen += key
	}
	if v, _ := source.Get(at, "c"); v == nil || seen != "ab" || visited != 4 {
		t.Errorf("saw %q at %d visits", seen, visited)
	}
}
