package derive

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
)

// Graph is the values of all collections of a Schema at one moment. It is
// immutable, and may be read and updated by many at once.
//
// Everything that can be read has a number: each key of a collection, each bucket
// of an index, each collection as a whole. What was read is kept as numbers, both
// ways. A number is given to whoever comes, and is no part of any answer.
type Graph struct {
	schema  *Schema
	names   tree[name, id]
	cells   vector[*cell]
	readers tree[read, none] // who reads it: the other direction of cell.reads
	members tree[name, id]   // the keys of each bucket, whose number stands for the space
	grouped tree[read, none] // the same of a Group: the bucket, and who is in it
	held    tree[hashed, []held]
	failed  tree[id, none]
	free    tree[id, none] // numbers that nobody has any more
	next    id             // the first number that nobody ever had
	answers *answers       // beside all this: what questions found out
}

type none struct{}

// id is the number of something that can be read.
type id uint32

func (a id) compare(b id) int { return cmp.Compare(a, b) }

// name is what has a number. The one name of a whole collection is empty.
type name struct {
	space uint32
	key   string
}

func (a name) compare(b name) int {
	if a.space != b.space {
		return cmp.Compare(a.space, b.space)
	}
	return cmp.Compare(a.key, b.key)
}

// read is one recorded read: what was read, and who did.
type read uint64

func readOf(what, by id) read     { return read(what)<<32 | read(by) }
func (a read) compare(b read) int { return cmp.Compare(a, b) }
func (a read) what() id           { return id(a >> 32) }
func (a read) by() id             { return id(a & (1<<32 - 1)) }

// cell is one name with what stands there.
type cell struct {
	name
	edit  *edit // who may change it in place
	live  bool  // of a derivation: its key is there, also where it made no value
	size  int32 // of a bucket: how many members it has
	state any   // a pointer to a value, *Failed, or nil
	reads []id  // of a derivation, in the order in which it asked
}

// New is a graph of the schema whose sources are empty.
func (s *Schema) New() *Graph { return &Graph{schema: s, answers: &answers{}} }

// At is where a collection is read: in a Graph, or through a Reader, which takes
// down what was read.
type At interface {
	value(c *collection, key string) any
	// each and eachIn call f with what there is, in order, until it returns false.
	each(c *collection, f func(key string, v any) bool)
	eachIn(i *index, bucket string, f func(key string, v any) bool)
	size(i *index, bucket string) int
	buckets(i *index, prefix string, f func(bucket string) bool)
	keys(i *index, bucket string, f func(key string) bool)
	question() question
}

func isValue(state any) bool {
	if state == nil {
		return false
	}
	_, failed := state.(*Failed)
	return !failed
}

func (g *Graph) cell(n id) *cell { return g.cells.get(n) }

func (g *Graph) value(c *collection, key string) any {
	if n, ok := g.names.get(name{c.values, key}); ok {
		return g.cell(n).state
	}
	return nil
}

func (g *Graph) each(c *collection, f func(key string, v any) bool) {
	g.values(&g.names, c.values, f)
}

func (g *Graph) eachIn(i *index, bucket string, f func(key string, v any) bool) {
	if n, ok := g.names.get(name{i.buckets, bucket}); ok {
		g.values(&g.members, uint32(n), f)
	}
}

func (g *Graph) size(i *index, bucket string) int {
	if n, ok := g.names.get(name{i.buckets, bucket}); ok {
		return int(g.cell(n).size)
	}
	return 0
}

// buckets are those that have members and whose name has the prefix.
func (g *Graph) buckets(i *index, prefix string, f func(bucket string) bool) {
	g.names.each(name{i.buckets, prefix}, func(k name, n id) bool {
		return k.space == i.buckets && strings.HasPrefix(k.key, prefix) && (g.cell(n).size == 0 || f(k.key))
	})
}

func (g *Graph) keys(i *index, bucket string, f func(key string) bool) {
	if n, ok := g.names.get(name{i.buckets, bucket}); ok {
		g.grouped.each(readOf(n, 0), func(r read, _ none) bool { return r.what() == n && f(g.cell(r.by()).key) })
	}
}

func (g *Graph) question() question { return question{g, func() bool { return true }} }

// values is what stands at the names of a space.
func (g *Graph) values(names *tree[name, id], space uint32, f func(key string, v any) bool) {
	names.each(name{space: space}, func(k name, n id) bool {
		if k.space != space {
			return false
		}
		x := g.cell(n).state
		return !isValue(x) || f(k.key, x)
	})
}

// readersOf yields who read the thing with that number.
func (g *Graph) readersOf(what id) iter.Seq[id] {
	return func(yield func(id) bool) {
		for r := range g.readers.from(readOf(what, 0)) {
			if r.what() != what || !yield(r.by()) {
				return
			}
		}
	}
}

// Reads is how many reads are recorded.
func (g *Graph) Reads() int { return g.readers.size }

// Reader is how a derivation looks at earlier collections. It is for one call of
// one derivation, which must not keep it.
type Reader struct {
	update *update
	by     *collection
	was    []id // what was read the last time, from where this time has come to
	known  []id
	absent []name // what was read and has no number yet
	before any    // the value that the key had
	reused bool   // before was asked for
	closed bool
}

// misuse is a panic that is nobody's input: the program itself is wrong.
type misuse string

// take takes down a read, and returns the number of what is read if it has one.
func (r *Reader) take(c *collection, n name) (id, bool) {
	if r.closed {
		panic(misuse("derive: a derivation of " + r.by.name + " kept its Reader"))
	}
	if c.schema != r.by.schema || c.number >= r.by.number {
		panic(misuse(fmt.Sprintf("derive: %s reads %s, which does not come before it", r.by.name, c.name)))
	}
	if len(r.was) > 0 { // most often it asks the same once more
		if x := r.update.cell(r.was[0]); x != nil && x.name == n {
			known := r.was[0]
			r.was, r.known = r.was[1:], append(r.known, known)
			return known, true
		}
	}
	known, ok := r.update.find(n)
	if ok {
		r.known = append(r.known, known)
	} else {
		r.absent = append(r.absent, n)
	}
	return known, ok
}

// Before is the value that c had at the key which r is derived for; nil where it had
// none. A derivation of c may take over parts of it that are equal to what it would
// make, or all of it, and what it makes must be equal to what it makes without.
func (c *Collection[T]) Before(r *Reader) *T {
	if r.closed || r.by != c.c {
		panic(misuse("derive: a derivation of " + r.by.name + " asks what " + c.c.name + " was"))
	}
	r.reused = true
	v, _ := r.before.(*T)
	return v
}

func (r *Reader) value(c *collection, key string) any {
	if n, ok := r.take(c, name{c.values, key}); ok {
		return r.update.cell(n).state
	}
	return nil
}

func (r *Reader) each(c *collection, f func(key string, v any) bool) {
	r.take(c, name{space: c.whole})
	r.update.each(c, f)
}

func (r *Reader) eachIn(i *index, bucket string, f func(key string, v any) bool) {
	if n, ok := r.take(i.of, name{i.buckets, bucket}); ok {
		r.update.values(&r.update.members, uint32(n), f)
	}
}

func (r *Reader) size(i *index, bucket string) int {
	if n, ok := r.take(i.of, name{i.buckets, bucket}); ok {
		return int(r.update.cell(n).size)
	}
	return 0
}

// buckets would be a read of all names of buckets, which nobody takes down.
func (r *Reader) buckets(i *index, _ string, _ func(string) bool) {
	panic(misuse("derive: " + r.by.name + " lists the buckets of " + i.of.name + "; only a Graph can"))
}

func (r *Reader) keys(i *index, _ string, _ func(string) bool) {
	panic(misuse("derive: " + r.by.name + " lists keys of " + i.of.name + "; only a Graph can"))
}

func (r *Reader) question() question {
	panic(misuse("derive: " + r.by.name + " asks for what is made on demand; only a question to a Graph can"))
}

// Empty reports whether nothing is in any collection.
func (g *Graph) Empty() bool { return g.names.size == 0 }

// Names is how many keys and buckets have a number: what there is, and what was
// looked for.
func (g *Graph) Names() int { return g.names.size }
