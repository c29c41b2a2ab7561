package derive

import (
	"iter"
	"maps"
	"slices"
	"sync"
)

// OnDemand is a collection that no update makes: its values are made when somebody asks for all of
// them. They are kept beside the Graph, and at a later one those are made again of which an update
// touched something that they were made from.
type OnDemand[T any] struct {
	// Name tells it from others of a Graph, of whatever comparable type.
	Name any
	// Over are the collections of whose keys it has values.
	Over Keys
	// Make is the value of a key, nil for none. It may look at nothing but what it asks of at.
	Make func(at At, key string) *T
}

// Demanded are the values of an OnDemand collection at one Graph. It is immutable.
type Demanded[T any] struct {
	made map[string]made[T]
	keys []string // of the values that are not nil, sorted
}

// made is a value, and the reads other than of its own key that it was made by: sorted, each once.
type made[T any] struct {
	value *T
	reads []Read
}

// At are the values at a Graph. It costs what was touched since somebody asked, or else all keys, each
// of which counts as one value that was looked at. What is not whole because nobody waits any more is
// not kept.
func (d OnDemand[T]) At(at At) *Demanded[T] {
	q, over := at.question(), collectionsOf(d.Over)
	find := func() any {
		out := &Demanded[T]{made: map[string]made[T]{}}
		for key := range q.keysIn(over) {
			if !q.visit() {
				break
			}
			out.make(at, q, d, over, key)
		}
		return out.sorted()
	}
	follow := func(was any, since *since) any {
		out := &Demanded[T]{made: maps.Clone(was.(*Demanded[T]).made)}
		again := since.keys()
		touched := newTouched(since.touched)
		for key, v := range out.made {
			if slices.ContainsFunc(v.reads, touched.has) {
				again = append(again, key)
			}
		}
		slices.Sort(again)
		for _, key := range slices.Compact(again) {
			if !q.visit() {
				break
			}
			out.make(at, q, d, over, key)
		}
		return out.sorted()
	}
	return q.answer(d.Name, answer{over: over, reads: true}, find, follow).(*Demanded[T])
}

// Known are the values at a Graph where somebody asked for them; else nil.
func (d OnDemand[T]) Known(at At) *Demanded[T] {
	known, _ := at.question().answers.known.Load(d.Name)
	if known == nil {
		return nil
	}
	return known.(answer).value.(*Demanded[T])
}

// Get is the value of one key: that which is known, or else one that is made now and not kept.
func (d OnDemand[T]) Get(at At, key string) *T {
	if known := d.Known(at); known != nil {
		return known.Get(key)
	}
	return d.Make(at, key)
}

// make makes the value of a key.
func (m *Demanded[T]) make(at At, q question, d OnDemand[T], over []*keys, key string) {
	delete(m.made, key)
	if !q.hasKey(over, key) {
		return
	}
	var v made[T]
	v.value = d.Make(Recorded(at, func(r Read) {
		if !slices.ContainsFunc(over, func(k *keys) bool { return r == readNamed(k.collection.values, key) }) {
			v.reads = append(v.reads, r)
		}
	}), key)
	if slices.Sort(v.reads); v.value != nil || len(v.reads) > 0 {
		v.reads = slices.Clip(slices.Compact(v.reads))
		m.made[key] = v
	}
}

func (m *Demanded[T]) sorted() *Demanded[T] {
	for key, v := range m.made {
		if v.value != nil {
			m.keys = append(m.keys, key)
		}
	}
	slices.Sort(m.keys)
	return m
}

// Get is the value of a key; nil for none.
func (m *Demanded[T]) Get(key string) *T { return m.made[key].value }

// All yields the values in the order of keys.
func (m *Demanded[T]) All() iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		for _, key := range m.keys {
			if !yield(key, m.made[key].value) {
				return
			}
		}
	}
}

// Followed is what find makes of a Graph. It is kept beside it under a name, and at a later Graph follow
// brings what it was up to date by the keys of over that changed since: sorted, each once. What is not
// whole because nobody waits any more is not kept.
func Followed[T any](at At, name any, over Keys, find func() *T, follow func(was *T, changed []string) *T) *T {
	return at.question().answer(name, answer{over: collectionsOf(over)}, func() any { return find() }, func(was any, since *since) any {
		return follow(was.(*T), since.keys())
	}).(*T)
}

// Once is what find makes of a Graph, kept beside it under a name. Updates forget it, and what find reads
// counts for nobody: a derivation or value on demand that asks has to read what it depends on itself.
func Once[T any](at At, name any, find func(At) *T) *T {
	g := at.question().Graph
	if known, ok := g.answers.known.Load(name); ok {
		return known.(answer).value.(*T)
	}
	found := find(g)
	g.answers.known.Store(name, answer{value: found})
	return found
}

// question is a Graph with who asks: visit counts a value, and is false once nobody waits.
type question struct {
	*Graph
	visit func() bool
}

// answers are what questions found out about a Graph, and what they had found out about earlier ones.
type answers struct {
	known   sync.Map       // answer, by name
	earlier map[any]*since // by name; nobody changes it
}

// answer is what a question found out.
type answer struct {
	value any
	over  []*keys // whose changed keys it follows; none if it follows nothing
	reads bool    // whether it goes by what was read as well
}

// since is what was known of an earlier Graph, and what updates changed and touched since.
type since struct {
	answer
	changed [][]string
	touched [][]Read
	size    int
}

// mostSince is after how much that was changed and touched an earlier answer is given up: nobody asks.
const mostSince = 100_000

// answer is what is known under a name, or found out now, with the properties of a. Two who ask at once may both find it out.
func (q question) answer(name any, a answer, find func() any, follow func(was any, since *since) any) any {
	if known, ok := q.answers.known.Load(name); ok {
		return known.(answer).value
	}
	if since := q.answers.earlier[name]; since != nil {
		a.value = follow(since.value, since)
	} else {
		a.value = find()
	}
	if q.visit() { // else it is not all
		q.answers.known.Store(name, a)
	}
	return a.value
}

// next is what is known of the Graph after an update.
func (a *answers) next(d *Delta) *answers {
	out := &answers{earlier: map[any]*since{}}
	touched := sync.OnceValues(d.touches)
	add := func(name any, was *since) {
		if now := was.with(d, touched); now != nil {
			out.earlier[name] = now
		}
	}
	for name, was := range a.earlier {
		add(name, was)
	}
	a.known.Range(func(name, known any) bool {
		delete(out.earlier, name)
		if known := known.(answer); len(known.over) > 0 {
			add(name, &since{answer: known})
		}
		return true
	})
	return out
}

// with is s with what an update did; nil where that is too much.
func (s *since) with(d *Delta, touched func() (reads []Read, all bool)) *since {
	out := *s
	for _, k := range s.over {
		if list := d.changed[k.collection.number]; len(list) > 0 {
			keys := make([]string, len(list))
			for i := range list {
				keys[i] = list[i].key
			}
			out.changed, out.size = append(slices.Clip(out.changed), keys), out.size+len(keys)
		}
	}
	if s.reads {
		reads, all := touched()
		if !all {
			return nil
		}
		if len(reads) > 0 {
			out.touched, out.size = append(slices.Clip(out.touched), reads), out.size+len(reads)
		}
	}
	if out.size > mostSince {
		return nil
	}
	return &out
}

// keys are those that changed, sorted, each once.
func (s *since) keys() []string {
	all := slices.Concat(s.changed...)
	slices.Sort(all)
	return slices.Compact(all)
}

// touches are the reads of Touched, where they are few enough to be kept.
func (d *Delta) touches() (reads []Read, all bool) {
	all = d.Touched(func(r Read) bool {
		reads = append(reads, r)
		return len(reads) <= mostSince
	})
	return reads, all
}

// touchedReads are what was touched. Most that is looked for is none of it, which few bits tell.
type touchedReads struct {
	all  map[Read]struct{}
	bits [1 << 10]uint64
}

func newTouched(lists [][]Read) *touchedReads {
	t := &touchedReads{all: map[Read]struct{}{}}
	for _, list := range lists {
		for _, r := range list {
			t.all[r] = struct{}{}
			t.bits[r>>6%Read(len(t.bits))] |= 1 << (r % 64)
		}
	}
	return t
}

func (t *touchedReads) has(r Read) bool {
	if t.bits[r>>6%Read(len(t.bits))]&(1<<(r%64)) == 0 {
		return false
	}
	_, ok := t.all[r]
	return ok
}

// collectionsOf are those of which over is the keys.
func collectionsOf(over Keys) []*keys {
	list := over.over()
	for _, k := range list {
		if k.index != nil {
			panic(misuse("derive: buckets of " + k.collection.name + " have nothing on demand; only collections have"))
		}
	}
	return list
}

// keysIn yields the keys that are in one of the collections, each once.
func (g *Graph) keysIn(over []*keys) iter.Seq[string] {
	return func(yield func(string) bool) {
		more := true
		for i := 0; i < len(over) && more; i++ {
			g.each(over[i].collection, func(key string, _ any) bool {
				more = g.hasKey(over[:i], key) || yield(key)
				return more
			})
		}
	}
}

// hasKey reports whether the key is in one of the collections.
func (g *Graph) hasKey(over []*keys, key string) bool {
	return slices.ContainsFunc(over, func(k *keys) bool { return isValue(g.value(k.collection, key)) })
}
