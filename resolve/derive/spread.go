package derive

import (
	"maps"
	"slices"
)

// spread brings the indexes of a collection up to date, and marks the derivations
// that the changes concern.
func (u *update) spread(c *collection, changes []change) {
	values := false
	touched := make([]map[string]id, len(c.indexes))
	for _, ch := range changes {
		u.mark(ch.id)
		u.follow(&c.keys, ch.key)
		u.regroup(c, &ch, touched)
		values = values || isValue(ch.before) || isValue(ch.after)
	}
	for i, x := range c.indexes {
		for _, bucket := range slices.Sorted(maps.Keys(touched[i])) {
			u.mark(touched[i][bucket])
			u.follow(&x.keys, bucket)
		}
	}
	if n, ok := u.names.get(name{space: c.whole}); ok && values {
		u.mark(n)
	}
	if c.hash == nil {
		return
	}
	for _, ch := range changes { // only now: another key may have taken the value over
		if isValue(ch.before) {
			u.release(c, ch.before)
		}
	}
}

// regroup moves a changed value between the buckets of the indexes of its
// collection, and notes the number of every bucket that it is or was in.
func (u *update) regroup(c *collection, ch *change, touched []map[string]id) {
	was := c.bucketsOf(ch.key, ch.before)
	for i, x := range c.indexes {
		var now []string
		if ch.buckets != nil {
			now = ch.buckets[i]
		}
		if touched[i] == nil {
			touched[i] = map[string]id{}
		}
		for _, bucket := range was[i] {
			n := u.number(name{x.buckets, bucket})
			touched[i][bucket] = n
			if _, still := slices.BinarySearch(now, bucket); !still {
				u.members.remove(u.edit, name{uint32(n), ch.key})
				u.loose[n] = struct{}{}
			}
		}
		for _, bucket := range now {
			n := u.number(name{x.buckets, bucket})
			touched[i][bucket] = n
			u.members.put(u.edit, name{uint32(n), ch.key}, ch.id)
		}
	}
}

// mark marks the derivations that read what has the number.
func (u *update) mark(what id) {
	for by := range u.readersOf(what) {
		c := u.schema.spaces[u.cell(by).space].of
		u.dirty[c.number][by] = struct{}{}
	}
}

// follow notes that a key of one of the sets that a collection is derived over may
// have come or gone.
func (u *update) follow(k *keys, key string) {
	for _, c := range k.followers {
		n := name{c.values, key}
		if _, known := u.names.get(n); known || u.has(c.over, key) {
			u.keys[c.number][u.number(n)] = struct{}{}
		}
	}
}

// tidy gives back the numbers that nobody needs any more.
func (u *update) tidy() {
	for n := range u.loose {
		c := u.cell(n)
		if c.state != nil || c.live || u.isRead(n) || u.schema.spaces[c.space].index != nil && u.filled(n) {
			continue
		}
		u.names.remove(u.edit, c.name)
		u.cells.remove(u.edit, n)
		u.free.put(u.edit, n, none{})
	}
}

func (u *update) isRead(what id) bool {
	for range u.readersOf(what) {
		return true
	}
	return false
}
