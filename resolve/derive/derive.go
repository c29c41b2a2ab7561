package derive

import (
	"fmt"
	"iter"
)

// Schema is the collections of a graph, in their order: each reads earlier ones
// only. It is built once, by Source, Derive and Index, before the first Graph.
type Schema struct {
	collections []*collection
	spaces      []space
}

// collection is what the machine knows of a Collection, without its type. Its
// values are pointers of one type, or *Failed, or nil.
type collection struct {
	schema  *Schema
	number  int
	name    string
	values  uint32  // the space of its keys
	whole   uint32  // the space of the one name that stands for all of it
	over    []*keys // nil for a source
	derive  func(r *Reader, key string) any
	equal   func(a, b any) bool
	hash    func(any) uint64 // nil where it is not interned
	keys    keys
	indexes []*index
}

// index groups the values of a collection.
type index struct {
	group   bool // its members are in no order
	of      *collection
	buckets uint32 // the space of its bucket names
	keysOf  func(key string, v any, add func(bucket string))
	keys    keys
}

// keys is a set of keys that a collection can be derived over: those of a
// collection, or the buckets of an index.
type keys struct {
	collection *collection
	index      *index // nil for the collection
	followers  []*collection
}

// space is one room of names: the keys of a collection, its whole, or the
// buckets of an index.
type space struct {
	of    *collection
	index *index
}

// Keys is what a collection can be derived over: another collection has a
// derivation for each of its values, an index one for each bucket that is not
// empty.
type Keys interface{ over() []*keys }

// Union is the keys that are in one of several sets.
func Union(of ...Keys) Keys { return union(of) }

type union []Keys

func (u union) over() []*keys {
	var out []*keys
	for _, k := range u {
		out = append(out, k.over()...)
	}
	return out
}

// Collection is values of one type by key: *T, each immutable.
type Collection[T any] struct{ c *collection }

// Index groups the values of a collection by what they say. A value may be in
// many buckets or in none.
type Index[T any] struct{ i *index }

// Group is an Index of which nobody reads the values of a bucket, only who is in
// it, in no order: it takes a quarter of the memory.
type Group[T any] struct{ i *index }

// Values says when two values of a collection are equal, and so are one pointer.
type Values[T any] struct {
	// Equal compares content; nil compares pointers.
	Equal func(a, b *T) bool
	// Hash of content interns the collection where it is given: a value is then
	// also one pointer with equal values of other keys.
	Hash func(*T) uint64
}

// Source adds a collection whose values come from outside.
func Source[T any](s *Schema, name string, v Values[T]) *Collection[T] {
	return &Collection[T]{s.add(name, v.erased())}
}

// Derive adds a collection that has, for each key of over, the value that f makes
// of it; nil is none. What f asks of earlier collections through r is taken down:
// f is asked again when an answer would be another one, and only then. It may
// look at nothing else.
func Derive[T any](s *Schema, name string, over Keys, v Values[T], f func(r *Reader, key string) *T) *Collection[T] {
	c := v.erased()
	c.over = over.over()
	c.derive = func(r *Reader, key string) any {
		if x := f(r, key); x != nil {
			return x
		}
		return nil
	}
	s.add(name, c)
	for _, k := range c.over {
		k.followers = append(k.followers, c)
	}
	return &Collection[T]{c}
}

// Index adds a way to find values of c: by the buckets that of adds for each.
func (c *Collection[T]) Index(of func(key string, v *T, add func(bucket string))) *Index[T] {
	return &Index[T]{c.index(of, false)}
}

// Group adds a way to tell which keys of c are in a bucket.
func (c *Collection[T]) Group(of func(key string, v *T, add func(bucket string))) *Group[T] {
	return &Group[T]{c.index(of, true)}
}

func (c *Collection[T]) index(of func(key string, v *T, add func(bucket string)), group bool) *index {
	i := &index{of: c.c, group: group, keysOf: func(key string, v any, add func(string)) { of(key, v.(*T), add) }}
	i.keys = keys{collection: c.c, index: i}
	i.buckets = c.c.schema.room(space{c.c, i})
	c.c.indexes = append(c.c.indexes, i)
	return i
}

func (c *Collection[T]) over() []*keys { return []*keys{&c.c.keys} }
func (i *Index[T]) over() []*keys      { return []*keys{&i.i.keys} }
func (g *Group[T]) over() []*keys      { return []*keys{&g.i.keys} }

// Name is what the collection was called when it was added.
func (c *Collection[T]) Name() string { return c.c.name }

func (v Values[T]) erased() *collection {
	c := &collection{equal: func(a, b any) bool { return a == b }}
	if v.Equal != nil {
		c.equal = func(a, b any) bool { return a == b || v.Equal(a.(*T), b.(*T)) }
	}
	if v.Hash != nil {
		c.hash = func(a any) uint64 { return v.Hash(a.(*T)) }
	}
	return c
}

func (s *Schema) add(name string, c *collection) *collection {
	c.schema, c.number, c.name = s, len(s.collections), name
	c.keys = keys{collection: c}
	c.values, c.whole = s.room(space{of: c}), s.room(space{of: c})
	s.collections = append(s.collections, c)
	return c
}

func (s *Schema) room(x space) uint32 {
	s.spaces = append(s.spaces, x)
	return uint32(len(s.spaces) - 1)
}

// Failed stands where a derivation, or an index or hash of what it made, panicked.
// It is no value: it is in no bucket and in no set of keys. A derivation that
// panics with the *Failed that it read fails alike.
type Failed struct {
	Cause string // what it panicked with, and where
}

// Error says why there is no value.
func (f *Failed) Error() string { return "panic: " + f.Cause }

// Get is the value of a key: nil where there is none, with the reason where it
// failed.
func (c *Collection[T]) Get(at At, key string) (*T, *Failed) {
	switch x := at.value(c.c, key).(type) {
	case *T:
		return x, nil
	case *Failed:
		return nil, x
	}
	return nil, nil
}

// All yields every value in the order of keys. To have begun with it is to have
// read the whole collection.
func (c *Collection[T]) All(at At) iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		at.each(c.c, func(key string, v any) bool { return yield(key, v.(*T)) })
	}
}

// Values are those of All without their keys.
func (c *Collection[T]) Values(at At) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		at.each(c.c, func(_ string, v any) bool { return yield(v.(*T)) })
	}
}

// Any reports whether there is a value.
func (c *Collection[T]) Any(at At) (found bool) {
	at.each(c.c, func(string, any) bool { found = true; return false })
	return found
}

// In yields the values of a bucket in the order of their keys. To have begun with
// it is to have read the whole bucket.
func (i *Index[T]) In(at At, bucket string) iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		at.eachIn(i.i, bucket, func(key string, v any) bool { return yield(key, v.(*T)) })
	}
}

// Values are those of In without their keys.
func (i *Index[T]) Values(at At, bucket string) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		at.eachIn(i.i, bucket, func(_ string, v any) bool { return yield(v.(*T)) })
	}
}

// Len is how many values are in a bucket.
func (i *Index[T]) Len(at At, bucket string) int { return at.size(i.i, bucket) }

// Buckets yields the names of buckets that have members and begin with prefix, in
// their order. Only a Graph can tell; a derivation that asks is wrong.
func (g *Group[T]) Buckets(at At, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) { at.buckets(g.i, prefix, yield) }
}

// Keys yields the keys of a bucket in no order. Only a Graph can tell.
func (g *Group[T]) Keys(at At, bucket string) iter.Seq[string] {
	return func(yield func(string) bool) { at.keys(g.i, bucket, yield) }
}

// Change is a new value of a source, or its end.
type Change struct {
	of    *collection
	key   string
	value any
}

// Put gives a key of a source a value.
func (c *Collection[T]) Put(key string, v *T) Change {
	if v == nil {
		return c.Delete(key)
	}
	return Change{c.source(), key, v}
}

// Delete takes the value of a key of a source away.
func (c *Collection[T]) Delete(key string) Change { return Change{c.source(), key, nil} }

func (c *Collection[T]) source() *collection {
	if c.c.over != nil {
		panic(fmt.Sprintf("derive: %s is derived; change what it is derived from", c.c.name))
	}
	return c.c
}

// Delta is what an update did.
type Delta struct {
	schema  *Schema
	changed [][]changed // by the number of the collection
	ran     []int
}

// changed is what stood at a key, and what stands there now.
type changed struct {
	key           string
	before, after any
}

// Changed are the keys that have another pointer, appeared or went away, sorted.
func (c *Collection[T]) Changed(d *Delta) []string {
	list := d.changed[c.c.number]
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].key
	}
	return out
}

// Changes yields what stood at each of the keys of Changed before and what stands there now, in their order;
// nil for no value.
func (c *Collection[T]) Changes(d *Delta) iter.Seq2[*T, *T] {
	valueOf := func(v any) *T {
		if !isValue(v) {
			return nil
		}
		return v.(*T)
	}
	return func(yield func(before, after *T) bool) {
		for _, x := range d.changed[c.c.number] {
			if !yield(valueOf(x.before), valueOf(x.after)) {
				return
			}
		}
	}
}

// Ran is how many derivations of the collection were asked: the cost of an update.
func (c *Collection[T]) Ran(d *Delta) int { return d.ran[c.c.number] }
