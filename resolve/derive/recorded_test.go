package derive_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/derive"
)

// TestWhatIsNotTouchedIsAnsweredAlike: a question of which nothing is touched by updates has the
// answer that it had before them.
func TestWhatIsNotTouchedIsAnsweredAlike(t *testing.T) {
	t.Parallel()
	spared := 0
	rapid.Check(t, func(t *rapid.T) {
		s := &derive.Schema{}
		source := derive.Source(s, "source", derive.Values[value]{})
		tags := func(_ string, v *value, add func(string)) {
			for _, tag := range v.tags {
				add(tag)
			}
		}
		index, group := source.Index(tags), source.Group(tags)
		sums := derive.Derive(s, "sums", index, derive.Values[value]{}, func(r *derive.Reader, tag string) *value {
			sum := &value{}
			for v := range index.Values(r, tag) {
				sum.number += v.number
			}
			return sum
		})
		questions := map[string]func(derive.At) string{
			"all":  func(at derive.At) string { return fmt.Sprint(slices.Collect(source.Values(at))) },
			"sums": func(at derive.At) string { return fmt.Sprint(slices.Collect(sums.Values(at))) },
		}
		for _, key := range keyNames {
			questions["value of "+key] = func(at derive.At) string { v, _ := source.Get(at, key); return fmt.Sprint(v) }
		}
		for _, tag := range append([]string{"", "none"}, tagNames...) {
			questions["sum of "+tag] = func(at derive.At) string { v, _ := sums.Get(at, tag); return fmt.Sprint(v) }
			questions["in "+tag] = func(at derive.At) string { return fmt.Sprint(slices.Collect(index.Values(at, tag))) }
			questions["how many in "+tag] = func(at derive.At) string { return fmt.Sprint(index.Len(at, tag)) }
			questions["keys of "+tag] = func(at derive.At) string { return fmt.Sprint(slices.Sorted(group.Keys(at, tag))) }
			questions["buckets at "+tag] = func(at derive.At) string { return fmt.Sprint(slices.Collect(group.Buckets(at, tag))) }
			if len(tag) > 0 {
				questions["buckets at a part of "+tag] = func(at derive.At) string { return fmt.Sprint(slices.Collect(group.Buckets(at, tag[:1]))) }
			}
		}
		g, touched := s.New(), map[derive.Read]bool{}
		answers, reads := map[string]string{}, map[string][]derive.Read{}
		for range rapid.IntRange(1, 10).Draw(t, "updates") {
			key := rapid.SampledFrom(keyNames).Draw(t, "key")
			change := source.Delete(key)
			if rapid.Bool().Draw(t, "put") {
				change = source.Put(key, &value{rapid.IntRange(0, 3).Draw(t, "number"), rapid.SliceOf(rapid.SampledFrom(tagNames)).Draw(t, "tags")})
			}
			var delta *derive.Delta
			g, delta = g.Update(change)
			delta.Touched(func(r derive.Read) bool { touched[r] = true; return true })
			if rapid.Bool().Draw(t, "nobody asks") {
				continue
			}
			for name, ask := range questions {
				known, ok := answers[name]
				ok = ok && !slices.ContainsFunc(reads[name], func(r derive.Read) bool { return touched[r] })
				reads[name] = nil
				answers[name] = ask(derive.Recorded(g, func(r derive.Read) { reads[name] = append(reads[name], r) }))
				if ok && known != answers[name] {
					t.Fatalf("%s: untouched, and %s instead of %s", name, answers[name], known)
				}
				if ok {
					spared++
				}
				if answers[name] != ask(g) {
					t.Fatalf("%s: recorded it is %s, else %s", name, answers[name], ask(g))
				}
			}
			clear(touched)
		}
	})
	if spared == 0 {
		t.Error("every question was touched by every update")
	}
}
