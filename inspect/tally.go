package inspect

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Tally keeps how many dataplanes of a mesh are in each state, and which those are that do not
// follow: as a rule few. It is for one goroutine.
type Tally struct {
	counts map[State]int
	in     map[State]map[api.Ref]bool // but for those in sync
	sorted map[State][]api.Ref        // of those, while nothing changes
}

// NewTally counts nothing yet.
func NewTally() *Tally {
	return &Tally{counts: map[State]int{}, in: map[State]map[api.Ref]bool{}, sorted: map[State][]api.Ref{}}
}

// Move counts a dataplane in another state than before; empty is none.
func (t *Tally) Move(ref api.Ref, from, to State) {
	if from == to {
		return
	}
	if t.counts[from]--; from == "" || t.counts[from] == 0 {
		delete(t.counts, from)
	}
	if t.counts[to]++; to == "" {
		delete(t.counts, to)
	}
	if t.in[from] != nil {
		delete(t.in[from], ref)
		delete(t.sorted, from)
	}
	if to == "" || to == StateInSync {
		return
	}
	if t.in[to] == nil {
		t.in[to] = map[api.Ref]bool{}
	}
	t.in[to][ref] = true
	delete(t.sorted, to)
}

// Counts are the numbers of dataplanes by state, without zeros.
func (t *Tally) Counts() map[State]int { return maps.Clone(t.counts) }

// Total is how many dataplanes are counted.
func (t *Tally) Total() (n int) {
	for _, more := range t.counts {
		n += more
	}
	return n
}

// In are the dataplanes in one of some states that are not StateInSync, sorted. Nobody changes
// the list.
func (t *Tally) In(states ...State) []api.Ref {
	var lists [][]api.Ref
	for _, state := range slices.Compact(slices.Sorted(slices.Values(states))) {
		if list := t.inOne(state); len(list) > 0 {
			lists = append(lists, list)
		}
	}
	if len(lists) == 1 {
		return lists[0]
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, api.Ref.Compare)
	return all
}

func (t *Tally) inOne(state State) []api.Ref {
	list, ok := t.sorted[state]
	if !ok {
		list = slices.SortedFunc(maps.Keys(t.in[state]), api.Ref.Compare)
		t.sorted[state] = list
	}
	return list
}

// Sync is how far the sidecars of a mesh follow whose dataplanes are counted, at a revision, as
// SyncOf says it. Troubled are all sidecars with which something is wrong, awaits those that
// are expected back.
func (t *Tally) Sync(m *resolve.Reader, mesh string, known FindSidecar, troubled []Sidecar, awaits func(api.Ref) bool) Sync {
	s := Sync{Revision: m.Snapshot().Revision(), Total: t.Total(), InSync: t.counts[StateInSync], Absent: t.counts[StateMissing], Behind: []string{}, Refusing: []Refuser{}, Withheld: heldIn(mesh, troubled, func(api.Ref) bool { return true })}
	behind := slices.Clone(t.In(StateBehind, StateWithheld))
	for _, ref := range t.In(StateRefusing) {
		if c, ok := known(ref); ok && c.Refusal != nil {
			s.Refusing = append(s.Refusing, Refuser{ref.FullName(), c.Refusal.Type, c.Refusal.Resources, c.Refusal.Message})
		} else { // a moment ago
			behind = append(behind, ref)
		}
	}
	slices.SortFunc(behind, api.Ref.Compare)
	for _, ref := range behind {
		s.Behind = append(s.Behind, ref.FullName())
	}
	if slices.ContainsFunc(troubled, func(c Sidecar) bool { return c.waits() }) {
		s.Unconfirmed = waiting(m, behind, known)
	}
	for _, ref := range t.In(StateMissing) {
		s.Missing = append(s.Missing, ref.FullName())
		if awaits(ref) {
			s.Awaited = append(s.Awaited, ref.FullName())
		}
	}
	return s
}
