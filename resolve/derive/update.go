package derive

import (
	"cmp"
	"slices"
)

// update makes the next graph, one collection after the other: when its turn has
// come, all that it reads is final.
type update struct {
	Graph
	before       *Graph
	edit         *edit
	known        []map[string]id // by space: the numbers of names that were looked up
	wanted       map[id]any      // of sources
	dirty        []set           // by collection: what may come out differently
	left         []set           // by collection: keys that may have gone
	gained, lost []read          // which only the next update asks for
	loose        []id            // numbers that may not be needed any more
	buffer       []id            // for what one derivation reads
	delta        *Delta
}

// set is numbers that were marked.
type set map[id]struct{}

// add makes the set where there is none: an update concerns few collections.
func (s *set) add(n id) {
	if *s == nil {
		*s = set{}
	}
	(*s)[n] = struct{}{}
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
	u := &update{Graph: *g, before: g, edit: new(edit), known: make([]map[string]id, len(g.schema.spaces)), wanted: map[id]any{},
		dirty: make([]set, n), left: make([]set, n), delta: &Delta{schema: g.schema, changed: make([][]changed, n), ran: make([]int, n)}}
	for _, c := range changes {
		if c.of.schema != g.schema {
			panic("derive: " + c.of.name + " is a collection of another schema")
		}
		n := u.number(name{c.of.values, c.key})
		u.wanted[n] = c.value
		u.dirty[c.of.number].add(n)
	}
	for _, c := range g.schema.collections {
		u.bring(c)
	}
	u.record()
	u.tidy()
	next := u.Graph
	next.answers = g.answers.next(u.delta)
	return &next, u.delta
}

// find is the number of a name, if it has one.
func (u *update) find(n name) (id, bool) {
	if known, ok := u.known[n.space][n.key]; ok {
		return known, true
	}
	known, ok := u.before.names.get(n) // what came since is known
	if ok {
		u.know(n, known)
	}
	return known, ok
}

func (u *update) know(n name, known id) {
	if u.known[n.space] == nil {
		u.known[n.space] = map[string]id{}
	}
	u.known[n.space][n.key] = known
}

// has reports whether the key is in one of the sets.
func (u *update) has(of []*keys, key string) bool {
	return slices.ContainsFunc(of, func(k *keys) bool {
		if k.index != nil {
			n, ok := u.find(name{k.index.buckets, key})
			return ok && u.cell(n).size > 0
		}
		n, ok := u.find(name{k.collection.values, key})
		return ok && isValue(u.cell(n).state)
	})
}

// number is that of a name, which gets one if it has none.
func (u *update) number(n name) id {
	if known, ok := u.find(n); ok {
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
	u.know(n, fresh)
	u.cells.set(u.edit, fresh, &cell{name: n, edit: u.edit})
	u.loose = append(u.loose, fresh)
	return fresh
}

// bring makes the marked values of a collection anew, and marks whom that concerns.
func (u *update) bring(c *collection) {
	list := u.todo(c)
	if len(list) == 0 {
		return
	}
	changes := make([]change, 0, len(list))
	for _, n := range list {
		was := u.cell(n)
		now := cell{name: was.name, edit: u.edit}
		if c.over == nil {
			now.state = u.wanted[n]
		} else if _, gone := u.left[c.number][n]; !gone {
			u.delta.ran[c.number]++
			now.live = true
			now.state, now.reads = u.run(c, was)
		}
		ch := change{id: n, key: was.key, before: was.state}
		now.state, ch.buckets = u.settle(c, was, now.state)
		if ch.after = now.state; ch.after != ch.before {
			changes = append(changes, ch)
		}
		u.store(n, was, &now)
	}
	if len(changes) > 0 {
		u.delta.add(c, changes)
		u.spread(c, changes)
	}
}

func (d *Delta) add(c *collection, changes []change) {
	list := make([]changed, len(changes))
	for i := range changes {
		x := &changes[i]
		list[i] = changed{x.key, x.before, x.after}
	}
	d.changed[c.number] = list
}

// todo lists the marked numbers of a collection in the order of their keys.
func (u *update) todo(c *collection) []id {
	type marked struct {
		key string
		id  id
	}
	for n := range u.left[c.number] {
		if x := u.cell(n); x.live && !u.has(c.over, x.key) {
			u.dirty[c.number].add(n)
		} else {
			delete(u.left[c.number], n)
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

// settle decides which pointer stands at a key: the one that stood there before
// or stands elsewhere, if it is equal. With a new one come the buckets that it is in.
func (u *update) settle(c *collection, was *cell, made any) (state any, buckets [][]string) {
	if isValue(made) {
		if isValue(was.state) && c.same(was.state, made) {
			return was.state, nil
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
	if !isValue(v) {
		return nil
	}
	out := make([][]string, len(c.indexes))
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
	if !slices.Equal(was.reads, now.reads) {
		u.reread(n, distinct(was.reads), distinct(now.reads))
	}
	if was.edit == u.edit {
		*was = *now
	} else {
		c := *now
		u.cells.set(u.edit, n, &c)
	}
	if now.state == nil && !now.live {
		u.loose = append(u.loose, n)
	}
}

// distinct is a sorted list of what is in a list.
func distinct(list []id) []id {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// reread notes what a derivation reads now and did not, or did; both are sorted.
func (u *update) reread(by id, was, now []id) {
	for _, x := range was {
		if _, still := slices.BinarySearch(now, x); !still {
			u.lost = append(u.lost, readOf(x, by))
		}
	}
	for _, x := range now {
		if _, already := slices.BinarySearch(was, x); !already {
			u.gained = append(u.gained, readOf(x, by))
		}
	}
}

// record takes down who read what. It comes last: of all that a derivation reads
// nothing changes any more in the update in which it ran.
func (u *update) record() {
	for _, r := range u.lost {
		u.readers.remove(u.edit, r)
		u.loose = append(u.loose, r.what())
	}
	slices.Sort(u.gained)
	if u.readers.root == nil {
		u.readers.fill(u.edit, u.gained, none{})
		return
	}
	for _, r := range u.gained {
		u.readers.put(u.edit, r, none{})
	}
}
