package resolve

import (
	"iter"
	"maps"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// roster numbers the dataplanes of a mesh and tells which of them have to do with
// a name. There are more such pairs than of anything else, so a name has a set of
// numbers: a link costs a few bits, and not a key in a tree. It is immutable.
type roster struct {
	keys []string // objectKey of the dataplane with each number; empty where nobody has it
	free []uint32 // numbers that nobody has
	by   *iradix.Tree[numbers]
}

// The relations of a roster.
const (
	callsIt = "calls"   // dataplane -> name of a service that it calls or sends to
	carries = "carries" // dataplane -> label or tag
)

func newRoster() roster { return roster{by: iradix.New[numbers]()} }

func rosterKey(relation, name string) []byte { return []byte(relation + "\x00" + name) }

// numbers are those of the dataplanes that stand in relation to a name.
func (r roster) numbers(relation, name string) numbers {
	set, _ := r.by.Get(rosterKey(relation, name))
	return set
}

// of yields the keys of those who stand in relation to a name, each once.
func (r roster) of(relation, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := range r.numbers(relation, name).all() {
			if !yield(r.keys[n]) {
				return
			}
		}
	}
}

// rosterEdit gathers what one update changes, so that each set is copied once.
type rosterEdit struct {
	roster
	owned bool // keys and free are copies
	edits map[string][]edit
}

func (r roster) edit() *rosterEdit { return &rosterEdit{roster: r, edits: map[string][]edit{}} }

func (e *rosterEdit) own() {
	if !e.owned {
		e.owned, e.keys, e.free = true, slices.Clone(e.keys), slices.Clone(e.free)
	}
}

// number gives the dataplane of the key a number.
func (e *rosterEdit) number(key string) uint32 {
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
func (e *rosterEdit) release(n uint32) {
	e.own()
	e.keys[n], e.free = "", append(e.free, n)
}

// relink replaces the names to which the dataplane of a number stands in relation;
// both are sorted.
func (e *rosterEdit) relink(relation string, n uint32, before, after []string) {
	for _, name := range before {
		if _, kept := slices.BinarySearch(after, name); !kept {
			key := string(rosterKey(relation, name))
			e.edits[key] = append(e.edits[key], edit{n, false})
		}
	}
	for _, name := range after {
		if _, had := slices.BinarySearch(before, name); !had {
			key := string(rosterKey(relation, name))
			e.edits[key] = append(e.edits[key], edit{n, true})
		}
	}
}

func (e *rosterEdit) commit() roster {
	out, txn := e.roster, e.by.Txn()
	for _, key := range slices.Sorted(maps.Keys(e.edits)) {
		old, _ := txn.Get([]byte(key))
		if set := old.with(e.edits[key]); len(set) > 0 {
			txn.Insert([]byte(key), set)
		} else {
			txn.Delete([]byte(key))
		}
	}
	out.by = txn.Commit()
	return out
}
