package resolve

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// callers tells which dataplanes call or send to a service of a name. A mesh has
// more such pairs than anything else, so dataplanes are numbered, and a name has
// a set of numbers: a link costs a few bits, not a key. It is immutable.
type callers struct {
	keys []string // objectKey of the dataplane with each number; empty where nobody has it
	free []uint32 // numbers that nobody has
	by   *iradix.Tree[numbers]
}

func newCallers() callers { return callers{by: iradix.New[numbers]()} }

// of yields the keys of those who call a service of that name, each once.
func (c callers) of(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		set, _ := c.by.Get([]byte(name))
		for n := range set.all() {
			if !yield(c.keys[n]) {
				return
			}
		}
	}
}

// callersEdit gathers what one update changes, so that each set is copied once.
type callersEdit struct {
	callers
	owned bool // keys and free are copies
	edits map[string][]edit
}

func (c callers) edit() *callersEdit { return &callersEdit{callers: c, edits: map[string][]edit{}} }

func (e *callersEdit) own() {
	if !e.owned {
		e.owned, e.keys, e.free = true, slices.Clone(e.keys), slices.Clone(e.free)
	}
}

// number gives the dataplane of the key a number.
func (e *callersEdit) number(key string) uint32 {
	e.own()
	if last := len(e.free) - 1; last >= 0 {
		n := e.free[last]
		e.free, e.keys[n] = e.free[:last], key
		return n
	}
	e.keys = append(e.keys, key)
	return uint32(len(e.keys) - 1)
}

// release takes a number back. Its links must be gone.
func (e *callersEdit) release(n uint32) {
	e.own()
	e.keys[n], e.free = "", append(e.free, n)
}

// relink replaces the names that the dataplane of a number calls; both are sorted.
func (e *callersEdit) relink(n uint32, before, after []string) {
	for _, name := range before {
		if _, kept := slices.BinarySearch(after, name); !kept {
			e.edits[name] = append(e.edits[name], edit{n, false})
		}
	}
	for _, name := range after {
		if _, had := slices.BinarySearch(before, name); !had {
			e.edits[name] = append(e.edits[name], edit{n, true})
		}
	}
}

func (e *callersEdit) commit() callers {
	out, txn := e.callers, e.by.Txn()
	for _, name := range slices.Sorted(maps.Keys(e.edits)) {
		old, _ := txn.Get([]byte(name))
		if set := old.with(e.edits[name]); len(set) > 0 {
			txn.Insert([]byte(name), set)
		} else {
			txn.Delete([]byte(name))
		}
	}
	out.by = txn.Commit()
	return out
}

// numbers is a sorted set of numbers that many small ones, near to each other,
// make dense: 64 of them share a block. It is immutable.
type numbers []block

// block is the members among the 64 numbers from 64*at on.
type block struct {
	at   uint32
	bits uint64
}

// edit adds or removes a number.
type edit struct {
	n   uint32
	add bool
}

// with is the set after the edits.
func (s numbers) with(edits []edit) numbers {
	out := slices.Clone(s)
	for _, e := range edits {
		i, ok := slices.BinarySearchFunc(out, e.n/64, func(b block, at uint32) int { return cmp.Compare(b.at, at) })
		if !ok {
			if !e.add {
				continue
			}
			out = slices.Insert(out, i, block{at: e.n / 64})
		}
		if bit := uint64(1) << (e.n % 64); e.add {
			out[i].bits |= bit
		} else {
			out[i].bits &^= bit
		}
	}
	return slices.Clip(slices.DeleteFunc(out, func(b block) bool { return b.bits == 0 }))
}

// all yields the members in their order.
func (s numbers) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, b := range s {
			for rest := b.bits; rest != 0; rest &= rest - 1 {
				if !yield(64*b.at + uint32(bits.TrailingZeros64(rest))) {
					return
				}
			}
		}
	}
}
