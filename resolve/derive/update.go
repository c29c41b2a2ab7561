package derive

import (
	"cmp"
	"fmt"
	"slices"
)

// update makes the next graph, one collection after the other: when its turn has
// come, all that it reads is final.
type update struct {
	Graph
	edit   *edit
	wanted map[id]any        // of sources
	dirty  []map[id]struct{} // by collection: what may come out differently
	keys   []map[id]struct{} // by collection: what may have come or gone
	loose  map[id]struct{}   // numbers that may not be needed any more
	delta  *Delta
}

// change is a value that came, went or was replaced.
type change struct {
	id            id
	key           string
	before, after any
	buckets       [][]string // of after, by index
}

// Update makes the graph in which the sources have changed so. Of two changes of
// one key the later one holds.
func (g *Graph) Update(changes ...Change) (*Graph, *Delta) {
	n := len(g.schema.collections)
	u := &update{Graph: *g, edit: new(edit), wanted: map[id]any{}, dirty: make([]map[id]struct{}, n), keys: make([]map[id]struct{}, n), loose: map[id]struct{}{},
		delta: &Delta{changed: make([][]string, n), ran: make([]int, n)}}
	for i := range u.dirty {
		u.dirty[i], u.keys[i] = map[id]struct{}{}, map[id]struct{}{}
	}
	for _, c := range changes {
		if c.of.schema != g.schema {
			panic("derive: " + c.of.name + " is a collection of another schema")
		}
		n := u.number(name{c.of.values, c.key})
		u.wanted[n] = c.value
		u.dirty[c.of.number][n] = struct{}{}
	}
	for _, c := range g.schema.collections {
		u.bring(c)
	}
	u.tidy()
	next := u.Graph
	return &next, u.delta
}

// number is that of a name, which gets one if it has none.
func (u *update) number(n name) id {
	if known, ok := u.names.get(n); ok {
		return known
	}
	fresh := u.next
	if first, ok := u.free.first(); ok {
		fresh = first
		u.free.remove(u.edit, first)
	} else {
		u.next++
	}
	u.names.put(u.edit, n, fresh)
	u.cells.put(u.edit, fresh, &cell{name: n})
	u.loose[fresh] = struct{}{}
	return fresh
}

// bring makes the marked values of a collection anew, and marks whom that concerns.
func (u *update) bring(c *collection) {
	var changes []change
	for _, n := range u.todo(c) {
		was := u.cell(n)
		now := &cell{name: was.name}
		switch {
		case c.over == nil:
			now.state = u.wanted[n]
		case u.has(c.over, was.key):
			u.delta.ran[c.number]++
			now.live = true
			now.state, now.reads = u.run(c, was.key)
		}
		ch := change{id: n, key: was.key, before: was.state}
		now.state, ch.buckets = u.settle(c, was, now.state)
		if ch.after = now.state; ch.after != ch.before {
			changes = append(changes, ch)
			u.delta.changed[c.number] = append(u.delta.changed[c.number], was.key)
		}
		u.store(n, was, now)
	}
	if len(changes) > 0 {
		u.spread(c, changes)
	}
}

// todo lists the marked numbers of a collection in the order of their keys.
func (u *update) todo(c *collection) []id {
	type marked struct {
		key string
		id  id
	}
	for n := range u.keys[c.number] {
		if x := u.cell(n); x.live != u.has(c.over, x.key) {
			u.dirty[c.number][n] = struct{}{}
		}
	}
	list := make([]marked, 0, len(u.dirty[c.number]))
	for n := range u.dirty[c.number] {
		list = append(list, marked{u.cell(n).key, n})
	}
	slices.SortFunc(list, func(a, b marked) int { return cmp.Compare(a.key, b.key) })
	out := make([]id, len(list))
	for i, x := range list {
		out[i] = x.id
	}
	return out
}

// run asks a derivation.
func (u *update) run(c *collection, key string) (state any, reads []id) {
	r := &Reader{graph: &u.Graph, by: c}
	if f := protect(func() { state = c.derive(r, key) }); f != nil {
		state = f
	}
	r.closed = true
	for _, n := range r.absent {
		r.known = append(r.known, u.number(n))
	}
	slices.Sort(r.known)
	return state, slices.Clone(slices.Compact(r.known))
}

// protect calls f, and says why it could not.
func protect(f func()) (failed *Failed) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case misuse:
			panic(string(p))
		default:
			failed = &Failed{fmt.Sprint(p)}
		}
	}()
	f()
	return nil
}

// settle decides which pointer stands at a key: the one that stood there before
// or stands elsewhere, if it is equal. With a new one come the buckets that it is in.
func (u *update) settle(c *collection, was *cell, made any) (state any, buckets [][]string) {
	if isValue(made) {
		if isValue(was.state) {
			if made = c.shared(was.state, made); c.same(was.state, made) {
				return was.state, nil
			}
		}
		var hash uint64
		failed := protect(func() {
			buckets = c.bucketsOf(was.key, made)
			if c.hash != nil {
				hash = c.hash(made)
			}
		})
		switch {
		case failed != nil:
			made, buckets = failed, nil
		case c.hash != nil:
			made = u.hold(c, hash, made)
		}
	}
	if old, ok := was.state.(*Failed); ok {
		if f, ok := made.(*Failed); ok && *f == *old {
			made = old
		}
	}
	return made, buckets
}

// bucketsOf lists the buckets that a value is in, by index, sorted.
func (c *collection) bucketsOf(key string, v any) [][]string {
	out := make([][]string, len(c.indexes))
	if !isValue(v) {
		return out
	}
	for i, x := range c.indexes {
		x.keysOf(key, v, func(bucket string) { out[i] = append(out[i], bucket) })
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	return out
}

// store puts a cell in the place of another, with the other direction of its reads.
func (u *update) store(n id, was, now *cell) {
	if _, failed := now.state.(*Failed); failed {
		u.failed.put(u.edit, n, none{})
	} else if _, failed := was.state.(*Failed); failed {
		u.failed.remove(u.edit, n)
	}
	if slices.Equal(was.reads, now.reads) {
		now.reads = was.reads
	} else {
		u.reread(n, was.reads, now.reads)
	}
	u.cells.put(u.edit, n, now)
	u.loose[n] = struct{}{}
}

// reread replaces what a derivation read, both sorted, in the other direction.
func (u *update) reread(by id, was, now []id) {
	for _, x := range was {
		if _, still := slices.BinarySearch(now, x); !still {
			u.readers.remove(u.edit, readOf(x, by))
			u.loose[x] = struct{}{}
		}
	}
	for _, x := range now {
		if _, already := slices.BinarySearch(was, x); !already {
			u.readers.put(u.edit, readOf(x, by), none{})
		}
	}
}
