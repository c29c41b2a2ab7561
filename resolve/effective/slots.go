package effective

import (
	"hash/fnv"
	"slices"
)

// MostSlots is how many slots a table has at most. Envoy never frees the counters of a name, so that
// names must not follow from what users write: whatever they change, a table costs the counters of so
// many names.
const MostSlots = 512

// Slots are the numbers by which what is counted of the routes of t is told apart, one for each of
// t.Routes. All routes of a rule have one. They follow from the keys of t's rules alone, so that replicas
// agree and a table that is made again counts on: a rule has the slot that its key asks for, or the next
// one that is free. Of more rules than there are slots, several have the same.
func (t *Table) Slots() []uint16 {
	keys := make([]string, len(t.Routes))
	for i, r := range t.Routes {
		keys[i] = r.Key
	}
	slices.Sort(keys)
	of := make(map[string]uint16, len(keys))
	var taken [MostSlots]bool
	for _, key := range slices.Compact(keys) {
		h := fnv.New32a()
		h.Write([]byte(key))
		slot := h.Sum32() % MostSlots
		for len(of) < MostSlots && taken[slot] {
			slot = (slot + 1) % MostSlots
		}
		taken[slot], of[key] = true, uint16(slot)
	}
	out := make([]uint16, len(t.Routes))
	for i, r := range t.Routes {
		out[i] = of[r.Key]
	}
	return out
}

// CalledAs is the outbound with a table whose destination has an id that reads as name in Envoy's
// statistics, where _ stands for each colon; nil for none.
func (r *Resolved) CalledAs(name string) *Outbound {
	for _, o := range r.Outbounds {
		if o.Table != nil && readsAs(o.Destination.ID, name) {
			return o
		}
	}
	return nil
}

func readsAs(id, name string) bool {
	if len(id) != len(name) {
		return false
	}
	for i := range len(id) {
		if id[i] != name[i] && (id[i] != ':' || name[i] != '_') {
			return false
		}
	}
	return true
}
