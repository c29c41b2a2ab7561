package store

import (
	"bytes"
	"maps"
	"reflect"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// Changes are what writes would change in s, with now as the time of the change.
// Of two writes to one object the later stands, and its writer is the owner.
func Changes(s *snapshot.Snapshot, writes []Write, now time.Time) ([]snapshot.Change, []Result) {
	results := make([]Result, len(writes))
	pending := make(map[api.Ref]int, len(writes)) // index in changes
	changes := make([]snapshot.Change, 0, len(writes))
	for i, w := range writes {
		ref := w.Ref()
		at, again := pending[ref]
		before, _ := s.Get(ref)
		current := before
		if again {
			current = changes[at].After
		}
		after, action := step(current, w, now, s.Revision()+1)
		results[i] = Result{ref, action}
		switch {
		case after == current:
		case again:
			changes[at].After = after
		default:
			pending[ref] = len(changes)
			changes = append(changes, snapshot.Change{Before: before, After: after})
		}
	}
	return settle(changes), results
}

// settle leaves out what was created and deleted again.
func settle(changes []snapshot.Change) []snapshot.Change {
	kept := changes[:0]
	for _, c := range changes {
		if c.Before != nil || c.After != nil {
			kept = append(kept, c)
		}
	}
	return kept
}

// step is what a write makes of current: current itself where nothing changes.
func step(current *api.Object, w Write, now time.Time, revision uint64) (*api.Object, WriteAction) {
	if w.Put != nil && !w.Own {
		w.Put = w.Put.MarkDefault(current != nil && current.IsDefault())
	}
	switch {
	case w.Put == nil && current == nil:
		return nil, Missing
	case w.Put == nil:
		return nil, Deleted
	case current == nil:
		return stamped(w.Put, now, now, revision), Created
	case !Same(current, w.Put):
		return stamped(w.Put, current.Created, now, revision), Updated
	case current.Owner != w.Put.Owner || !reflect.DeepEqual(current.Proof, w.Put.Proof): // it says the same, but stands or falls with another
		return stamped(w.Put, current.Created, current.Modified, current.Revision), Unchanged
	}
	return current, Unchanged
}

func stamped(o *api.Object, created, modified time.Time, revision uint64) *api.Object {
	c := *o
	c.Created, c.Modified, c.Revision = created, modified, revision
	return &c
}

// SaysNothingNew reports whether a change is one of the owner, or of the version at an API
// server, alone: the object says what it said, and so much of it is proved as was.
func SaysNothingNew(c snapshot.Change) bool {
	return c.Before != nil && c.After != nil && Same(c.Before, c.After) && reflect.DeepEqual(c.Before.Bound(), c.After.Bound()) &&
		(c.Before.Owner != c.After.Owner || c.Before.ResourceVersion != c.After.ResourceVersion)
}

// Same reports whether two objects say the same, however they are written.
// Where they stand, whose they are and when they were stored does not count.
func Same(a, b *api.Object) bool {
	if a.Ref != b.Ref || !maps.Equal(a.Labels, b.Labels) {
		return false
	}
	if !a.Adjusted && !b.Adjusted && len(a.Source.Text) > 0 && bytes.Equal(a.Source.Text, b.Source.Text) {
		return true
	}
	return reflect.DeepEqual(a.Meta, b.Meta) && reflect.DeepEqual(a.Spec, b.Spec) && reflect.DeepEqual(a.Status, b.Status)
}
