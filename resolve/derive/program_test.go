package derive_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/derive"
)

// value is what stands in every collection of the random graphs.
type value struct {
	number int
	tags   []string
}

func (v *value) String() string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d %v", v.number, v.tags)
}

func equalValues(a, b *value) bool {
	if a.number == cursed+1 {
		panic("cannot be compared")
	}
	return a.number == b.number && slices.Equal(a.tags, b.tags)
}

func hashValue(v *value) uint64 {
	if v.number == cursed+2 {
		panic("cannot be hashed")
	}
	h := fnv.New64a()
	h.Write([]byte(v.String()))
	return h.Sum64() % 5 // so that unequal values meet
}

// Values with these numbers make the functions of a collection panic.
const cursed = 40

var (
	keyNames = []string{"a", "b", "c", "d", "e"}
	tagNames = []string{"x", "y", "z"}
)

// program is what the derivations of one collection do.
type program struct {
	steps    []step
	modulus  int
	nothing  int // a sum that divides by it makes no value
	panicsAt int // and by this none either
}

// step is one read: of which collection, by what.
type step struct {
	of      int
	by      string // key, other, bucket, whole
	arg     string
	onlyOdd bool // and only if what was read so far is odd
	follow  bool // the key that the last value's first tag names
}

// layout is a random schema with its programs.
type layout struct {
	schema      *derive.Schema
	collections []*derive.Collection[value]
	indexes     []*derive.Index[value] // one for each collection: its tags
	sources     int
	over        [][]int // by collection; -1-n for the index of n
	programs    []program
	interned    []bool
	log         []*record // of this update
}

// record is one run of a derivation with what it was told.
type record struct {
	of      int
	key     string
	answers []answer
}

// answer is what one read gave.
type answer struct {
	step step
	key  string
	text string // pointers and keys
}

func drawLayout(t *rapid.T) *layout {
	l := &layout{schema: &derive.Schema{}, sources: rapid.IntRange(1, 2).Draw(t, "sources")}
	for n := range l.sources + rapid.IntRange(1, 4).Draw(t, "derived") {
		v := derive.Values[value]{Equal: equalValues}
		interned := rapid.Bool().Draw(t, "interned")
		if interned {
			v.Hash = hashValue
		}
		l.interned = append(l.interned, interned)
		l.programs = append(l.programs, program{})
		var c *derive.Collection[value]
		if n < l.sources {
			c = derive.Source(l.schema, fmt.Sprint("c", n), v)
			l.over = append(l.over, nil)
		} else {
			c = l.derived(t, n, v)
		}
		l.collections = append(l.collections, c)
		l.indexes = append(l.indexes, c.Index(func(_ string, v *value, add func(string)) {
			if v.number == cursed {
				panic("cannot be found")
			}
			for _, tag := range v.tags {
				add(tag)
			}
		}))
	}
	return l
}

func (l *layout) derived(t *rapid.T, n int, v derive.Values[value]) *derive.Collection[value] {
	l.programs[n] = drawProgram(t, n)
	var over []derive.Keys
	var numbers []int
	for range rapid.IntRange(1, 2).Draw(t, "sets") {
		of := rapid.IntRange(0, n-1).Draw(t, "over")
		if rapid.Bool().Draw(t, "over index") {
			over, numbers = append(over, l.indexes[of]), append(numbers, -1-of)
		} else {
			over, numbers = append(over, l.collections[of]), append(numbers, of)
		}
	}
	l.over = append(l.over, numbers)
	return derive.Derive(l.schema, fmt.Sprint("c", n), derive.Union(over...), v, func(r *derive.Reader, key string) *value {
		rec := &record{of: n, key: key}
		l.log = append(l.log, rec)
		return l.programs[n].run(key, func(s step, key string) ([]*value, string) {
			got, text := l.read(r, s, key)
			rec.answers = append(rec.answers, answer{s, key, text})
			return got, text
		})
	})
}

func drawProgram(t *rapid.T, n int) program {
	p := program{modulus: rapid.SampledFrom([]int{2, 3, cursed + 3}).Draw(t, "modulus"),
		nothing: rapid.IntRange(2, 9).Draw(t, "nothing"), panicsAt: rapid.IntRange(3, 11).Draw(t, "panics")}
	for range rapid.IntRange(0, 4).Draw(t, "reads") {
		s := step{of: rapid.IntRange(0, n-1).Draw(t, "of"), by: rapid.SampledFrom([]string{"key", "other", "bucket", "whole"}).Draw(t, "by"),
			onlyOdd: rapid.Bool().Draw(t, "odd"), follow: rapid.Bool().Draw(t, "follow")}
		s.arg = rapid.SampledFrom(keyNames).Draw(t, "key")
		if s.by == "bucket" {
			s.arg = rapid.SampledFrom(tagNames).Draw(t, "tag")
		}
		p.steps = append(p.steps, s)
	}
	return p
}

// run is what a program makes of what it reads.
func (p *program) run(key string, read func(step, string) ([]*value, string)) *value {
	sum, tags, last := len(key), []string{}, ""
	for _, s := range p.steps {
		if s.onlyOdd && sum%2 == 0 {
			continue
		}
		at := s.arg
		switch {
		case s.follow && last != "":
			at = last
		case s.by == "key":
			at = key
		}
		got, text := read(s, at)
		if strings.Contains(text, "panic") {
			sum++
		}
		for _, v := range got {
			sum += v.number
			if len(v.tags) > 0 {
				last = v.tags[0]
				tags = append(tags, last)
			}
		}
	}
	if sum > 0 && sum%p.panicsAt == 0 {
		panic(fmt.Sprintf("%s cannot stand %d", key, sum))
	}
	if sum%p.nothing == 0 {
		return nil
	}
	slices.Sort(tags)
	return &value{sum % p.modulus, slices.Compact(tags)}
}

// read does one read, and tells what it gave: pointers, and keys of sets.
func (l *layout) read(at derive.At, s step, key string) (got []*value, text string) {
	var b strings.Builder
	values := func(key string, v *value) {
		got = append(got, v)
		fmt.Fprintf(&b, "%s=%p ", key, v)
	}
	switch s.by {
	case "bucket":
		for k, v := range l.indexes[s.of].In(at, key) {
			values(k, v)
		}
	case "whole":
		for k, v := range l.collections[s.of].All(at) {
			values(k, v)
		}
	default:
		v, failed := l.collections[s.of].Get(at, key)
		if v != nil {
			values(key, v)
		}
		if failed != nil {
			fmt.Fprintf(&b, "%s: %s %p", key, failed.Error(), failed)
		}
	}
	return got, b.String()
}
