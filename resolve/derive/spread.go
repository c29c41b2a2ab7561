package derive

import (
	"maps"
	"slices"
)

// spread brings the indexes of a collection up to date, and marks the derivations
// that the changes concern.
func (u *update) spread(c *collection, changes []change) {
	values := false
	buckets := make([]map[string]id, len(c.indexes))
	for i := range buckets {
		buckets[i] = map[string]id{}
	}
	for _, ch := range changes {
		u.mark(ch.id)
		was, is := isValue(ch.before), isValue(ch.after)
		if values = values || was || is; was != is {
			u.follow(&c.keys, ch.key, is)
		}
		u.regroup(c, &ch, buckets)
	}
	for i, x := range c.indexes {
		for _, key := range slices.Sorted(maps.Keys(buckets[i])) {
			n := buckets[i][key]
			u.mark(n)
			u.follow(&x.keys, key, u.cell(n).size > 0)
		}
	}
	if n, ok := u.find(name{space: c.whole}); ok && values {
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
func (u *update) regroup(c *collection, ch *change, buckets []map[string]id) {
	was := c.bucketsOf(ch.key, ch.before)
	for i, x := range c.indexes {
		var before, now []string
		if was != nil {
			before = was[i]
		}
		if ch.buckets != nil {
			now = ch.buckets[i]
		}
		for _, key := range before {
			if _, still := slices.BinarySearch(now, key); still {
				continue
			}
			n := u.number(name{x.buckets, key})
			buckets[i][key] = n
			if x.group {
				u.grouped.remove(u.edit, readOf(n, ch.id))
			} else {
				u.members.remove(u.edit, name{uint32(n), ch.key})
			}
			u.resize(n, -1)
			u.loose = append(u.loose, n)
		}
		for _, key := range now {
			n := u.number(name{x.buckets, key})
			buckets[i][key] = n
			if _, was := slices.BinarySearch(before, key); was {
				continue
			}
			if x.group {
				u.grouped.put(u.edit, readOf(n, ch.id), none{})
			} else {
				u.members.put(u.edit, name{uint32(n), ch.key}, ch.id)
			}
			u.resize(n, 1)
		}
	}
}

// resize counts members that a bucket gained or lost.
func (u *update) resize(bucket id, by int32) {
	c := u.cell(bucket)
	if c.edit != u.edit {
		now := *c
		now.edit, c = u.edit, &now
		u.cells.set(u.edit, bucket, c)
	}
	c.size += by
}

// mark marks the derivations that read what has the number.
func (u *update) mark(what id) {
	for by := range u.readersOf(what) {
		u.dirty[u.schema.spaces[u.cell(by).space].of.number].add(by)
	}
}

// follow notes that a key came to one of the sets that collections are derived
// over, or left it: it may still be in another.
func (u *update) follow(k *keys, key string, came bool) {
	for _, c := range k.followers {
		at := name{c.values, key}
		if came {
			if n := u.number(at); !u.cell(n).live {
				u.dirty[c.number].add(n)
			}
		} else if n, ok := u.find(at); ok {
			u.left[c.number].add(n)
		}
	}
}

// tidy gives back the numbers that nobody needs any more.
func (u *update) tidy() {
	for _, n := range u.loose {
		c := u.cell(n)
		if c == nil || c.state != nil || c.live || u.isRead(n) || c.size > 0 {
			continue
		}
		u.names.remove(u.edit, c.name)
		u.cells.set(u.edit, n, nil)
		u.free.put(u.edit, n, none{})
	}
}

func (u *update) isRead(what id) bool {
	for range u.readersOf(what) {
		return true
	}
	return false
}
