package derive

import (
	"cmp"
	"slices"
)

// hashed is where equal values of an interned collection meet.
type hashed struct {
	of   uint32 // the number of the collection
	hash uint64
}

func (a hashed) compare(b hashed) int {
	return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.hash, b.hash))
}

// held is one value of an interned collection, and how many keys have it.
type held struct {
	value any
	keys  int
}

// hold is the pointer for v that all keys with an equal value have; it counts one
// more key.
func (u *update) hold(c *collection, hash uint64, v any) any {
	at := hashed{uint32(c.number), hash}
	list, _ := u.held.get(at)
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(h held) bool { return c.same(h.value, v) })
	if i < 0 {
		i, list = len(list), append(list, held{value: v})
	}
	list[i].keys++
	u.held.put(u.edit, at, list)
	return list[i].value
}

// release counts one key less that has v, and forgets a value that no key has.
func (u *update) release(c *collection, v any) {
	at := hashed{uint32(c.number), c.hash(v)}
	list, _ := u.held.get(at)
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(h held) bool { return h.value == v })
	if list[i].keys--; list[i].keys == 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		u.held.remove(u.edit, at)
		return
	}
	u.held.put(u.edit, at, list)
}

// same reports whether two values are equal; those of which nobody can tell are not.
func (c *collection) same(a, b any) (equal bool) {
	if f := protect(func() { equal = c.equal(a, b) }); f != nil {
		return false
	}
	return equal
}
