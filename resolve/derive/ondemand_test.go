package derive_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/derive"
)

// asked is a graph in which something is made on demand, and what was made since somebody looked.
type asked struct {
	source *derive.Collection[value]
	other  *derive.Collection[value]
	tagged *derive.Index[value]
	graph  *derive.Graph
	made   []string
}

func newAsked() *asked {
	s := &derive.Schema{}
	x := &asked{source: derive.Source(s, "source", derive.Values[value]{}), other: derive.Source(s, "other", derive.Values[value]{})}
	x.tagged = x.other.Index(func(_ string, v *value, add func(string)) {
		for _, tag := range v.tags {
			add(tag)
		}
	})
	x.graph = s.New()
	return x
}

// sums has, at each key of source, the sum of what others are tagged so, and nothing where that is 0.
func (x *asked) sums(name any) derive.OnDemand[int] {
	return derive.OnDemand[int]{Name: name, Over: derive.Union(x.source, x.source), Make: func(at derive.At, key string) *int {
		x.made = append(x.made, key)
		v, _ := x.source.Get(at, key)
		sum := 0
		for _, tag := range v.tags {
			for o := range x.tagged.Values(at, tag) {
				sum += o.number
			}
		}
		if sum == 0 {
			return nil
		}
		return &sum
	}}
}

func shown(d *derive.Demanded[int]) string {
	text := ""
	for key, v := range d.All() {
		if d.Get(key) != v {
			panic("Get and All differ at " + key)
		}
		text += fmt.Sprint(key, "=", *v, " ")
	}
	return text
}

// TestOnDemandFollowsUpdates: what is made on demand equals what is made of nothing, is made only
// where something was touched, and no update makes any.
func TestOnDemandFollowsUpdates(t *testing.T) {
	t.Parallel()
	spared := 0
	rapid.Check(t, func(t *rapid.T) {
		x := newAsked()
		sums, before := x.sums("sums"), ""
		changed := map[string]bool{} // since somebody asked
		for n := range rapid.IntRange(1, 12).Draw(t, "updates") {
			in := rapid.SampledFrom([]*derive.Collection[value]{x.source, x.other}).Draw(t, "in")
			key := rapid.SampledFrom(keyNames).Draw(t, "key")
			change := in.Delete(key)
			if rapid.IntRange(0, 3).Draw(t, "delete") > 0 {
				change = in.Put(key, &value{rapid.IntRange(0, 2).Draw(t, "number"), rapid.SliceOfN(rapid.SampledFrom(tagNames), 0, 2).Draw(t, "tags")})
			}
			x.graph, _ = x.graph.Update(change)
			changed[in.Name()+" "+key] = true
			if len(x.made) > 0 {
				t.Fatalf("the update made %v", x.made)
			}
			if rapid.Bool().Draw(t, "nobody asks") {
				continue
			}
			got := shown(sums.At(x.graph))
			again := x.made
			x.made = nil
			if len(changed) == 1 && changed["source "+key] && slices.ContainsFunc(again, func(k string) bool { return k != key }) && n > 0 && before != "" {
				t.Fatalf("%s alone changed, and %v were made", key, again)
			}
			if keys := len(slices.Collect(x.source.Values(x.graph))); len(again) < keys {
				spared++
			} else if len(again) > keys {
				t.Fatalf("%v were made of %d keys", again, keys)
			}
			if shown(sums.At(x.graph)) != got || len(x.made) > 0 {
				t.Fatalf("asked again it made %v", x.made)
			}
			if anew := shown(x.sums("anew" + fmt.Sprint(n)).At(x.graph)); got != anew {
				t.Fatalf("%s follows, %s anew", got, anew)
			}
			x.made, before = nil, got
			clear(changed)
		}
	})
	if spared == 0 {
		t.Error("everything was made at every question")
	}
}

// TestOnDemandOfOneKey: one key is made alone where nobody has asked for all, and not kept.
func TestOnDemandOfOneKey(t *testing.T) {
	t.Parallel()
	x := newAsked()
	x.graph, _ = x.graph.Update(x.source.Put("a", &value{1, []string{"t"}}), x.source.Put("b", &value{1, nil}), x.other.Put("o", &value{7, []string{"t"}}))
	sums := x.sums("sums")
	for range 2 {
		if v := sums.Get(x.graph, "a"); v == nil || *v != 7 {
			t.Fatalf("%v is the sum of a", v)
		}
	}
	if sums.Known(x.graph) != nil || !slices.Equal(x.made, []string{"a", "a"}) {
		t.Errorf("known are %v, made %v", sums.Known(x.graph), x.made)
	}
	sums.At(x.graph)
	x.made = nil
	if v := sums.Get(x.graph, "a"); v == nil || *v != 7 || sums.Get(x.graph, "b") != nil || len(x.made) > 0 {
		t.Errorf("%v is the sum of a, made again were %v", v, x.made)
	}
}

// TestOnDemandIsGivenUp: what nobody asked for during many changes is made anew, and costs no memory.
func TestOnDemandIsGivenUp(t *testing.T) {
	t.Parallel()
	const many = 100_001
	x := newAsked()
	x.graph, _ = x.graph.Update(x.source.Put("a", &value{1, []string{"t"}}))
	sums := x.sums("sums")
	sums.At(x.graph)
	var changes []derive.Change
	for i := range many {
		changes = append(changes, x.other.Put(fmt.Sprint(i), &value{1, nil}))
	}
	x.graph, _ = x.graph.Update(changes...)
	x.made = nil
	if sums.At(x.graph); len(x.made) != 1 {
		t.Errorf("%v were made", x.made)
	}
}

// TestAQuestionThatNobodyWaitsForIsNotKept, whether it finds, follows or makes on demand.
func TestAQuestionThatNobodyWaitsForIsNotKept(t *testing.T) {
	t.Parallel()
	x := newAsked()
	for i := range 4 {
		x.graph, _ = x.graph.Update(x.source.Put(fmt.Sprint(i), &value{1, []string{"t"}}))
	}
	x.graph, _ = x.graph.Update(x.other.Put("o", &value{7, []string{"t"}}))
	sums := x.sums("sums")
	ask := func(patience int) string {
		at := derive.Counted(x.graph, func() bool { patience--; return patience >= 0 })
		keys := derive.Followed(at, "keys", x.source, func() *[]string {
			var out []string
			for key := range x.source.All(at) {
				out = append(out, key)
			}
			return &out
		}, func(was *[]string, changed []string) *[]string {
			out := maps.Collect(func(yield func(string, bool) bool) {
				for _, key := range slices.Concat(*was, changed) {
					if v, _ := x.source.Get(at, key); v != nil {
						yield(key, true)
					}
				}
			})
			sorted := slices.Sorted(maps.Keys(out))
			return &sorted
		})
		return fmt.Sprint(len(*keys), " ", shown(sums.At(at)))
	}
	const all = "4 0=7 1=7 2=7 3=7 "
	for _, patience := range []int{2, 6, 100, 100} {
		if got := ask(patience); (got == all) != (patience == 100) {
			t.Errorf("with patience for %d values: %s", patience, got)
		}
	}
	x.graph, _ = x.graph.Update(x.source.Delete("2"), x.source.Put("5", &value{1, []string{"none"}}))
	for _, patience := range []int{0, 100} {
		if got := ask(patience); patience > 0 && got != "4 0=7 1=7 3=7 " {
			t.Errorf("after an update, with patience for %d values: %s", patience, got)
		}
	}
}
