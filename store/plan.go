package store

import (
	"bytes"
	"maps"
	"reflect"
	"time"

	"github.com/weftmesh/weft/api"
)

// Plan is what writes would change in s, with now as the time of the change.
// Of two writes to one object the later stands. It changes nothing.
func Plan(s *api.Snapshot, writes []Write, now time.Time) ([]api.Change, []Result) {
	results := make([]Result, len(writes))
	pending := make(map[api.Ref]int, len(writes)) // index in changes
	changes := make([]api.Change, 0, len(writes))
	for i, w := range writes {
		ref := w.Ref()
		at, again := pending[ref]
		before, _ := s.Get(ref)
		current := before
		if again {
			current = changes[at].After
		}
		after, action := step(current, w.Put, now)
		results[i] = Result{ref, action}
		switch {
		case action == Unchanged || action == Missing:
		case again:
			changes[at].After = after
		default:
			pending[ref] = len(changes)
			changes = append(changes, api.Change{Before: before, After: after})
		}
	}
	return settle(changes), results
}

// settle leaves out what was created and deleted again.
func settle(changes []api.Change) []api.Change {
	kept := changes[:0]
	for _, c := range changes {
		if c.Before != nil || c.After != nil {
			kept = append(kept, c)
		}
	}
	return kept
}

func step(current, put *api.Object, now time.Time) (*api.Object, Action) {
	switch {
	case put == nil && current == nil:
		return nil, Missing
	case put == nil:
		return nil, Deleted
	case current == nil:
		return stamped(put, now, now), Created
	case Same(current, put):
		return current, Unchanged
	}
	return stamped(put, current.Created, now), Updated
}

func stamped(o *api.Object, created, modified time.Time) *api.Object {
	c := *o
	c.Created, c.Modified = created, modified
	return &c
}

// Same reports whether two objects say the same, however they are written.
// Where they stand and when they were stored does not count.
func Same(a, b *api.Object) bool {
	if a.Ref != b.Ref || !maps.Equal(a.Labels, b.Labels) {
		return false
	}
	if len(a.Source.Text) > 0 && bytes.Equal(a.Source.Text, b.Source.Text) {
		return true
	}
	return reflect.DeepEqual(a.Spec, b.Spec) && reflect.DeepEqual(a.Status, b.Status)
}
