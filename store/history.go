package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// History is what a store keeps of its revisions, for as long as it keeps it. Dataplanes that
// sidecars bring along come and go without anybody's doing: they are no part of it.
type History interface {
	// Revisions calls each for those that are kept with after < number < before, newest first,
	// until it returns false.
	Revisions(after, before uint64, each func(Revision) bool) error
	// Undo are the changes that lead from now, a snapshot of this store, back to what was stored
	// at an earlier revision, by ref. The error is a *GoneError where that cannot be told any
	// more, and ErrNoRevision where there was none yet.
	Undo(ctx context.Context, now *snapshot.Snapshot, to uint64) ([]snapshot.Change, error)
}

// Revision is one step of a store: who changed what, and when.
type Revision struct {
	Number uint64
	Time   time.Time
	Author
	Objects []Result
	// Damaged is why nothing else is known of it; nil for a whole one.
	Damaged error
}

// Author is who writes.
type Author struct {
	User   string // a name for people; empty where nobody said
	Client string // the program, as it calls itself
}

type authorKey struct{}

// By is ctx for what an author writes.
func By(ctx context.Context, a Author) context.Context {
	return context.WithValue(ctx, authorKey{}, a)
}

// AuthorOf is who writes with ctx.
func AuthorOf(ctx context.Context) Author {
	a, _ := ctx.Value(authorKey{}).(Author)
	return a
}

// The refusals of histories.
var (
	// ErrNoHistory says that a store keeps no revisions.
	ErrNoHistory = errors.New("the store keeps no revisions")
	// ErrNoRevision says that there was no such revision yet.
	ErrNoRevision = errors.New("there is no such revision")
)

// GoneError says that what was stored at a revision is not known any more.
type GoneError struct {
	Revision       uint64
	Oldest, Latest uint64 // revisions between which all are known
	Because        error  // what is damaged; nil where it was too old
}

// Error says which revisions there are.
func (e *GoneError) Error() string {
	text := fmt.Sprintf("what was stored at revision %d is not kept any more; name one from %d to %d", e.Revision, e.Oldest, e.Latest)
	if e.Because != nil {
		text += ": " + e.Because.Error()
	}
	return text
}

// Unwrap is what is damaged.
func (e *GoneError) Unwrap() error { return e.Because }

// Reachable is why Undo cannot lead from revision latest back to one where the oldest that is
// known is oldest; nil where it can.
func Reachable(to, oldest, latest uint64) error {
	switch {
	case to > latest:
		return fmt.Errorf("%w as %d; the latest is %d", ErrNoRevision, to, latest)
	case to < oldest:
		return &GoneError{Revision: to, Oldest: oldest, Latest: latest}
	}
	return nil
}

// Lasting are the changes of which a history tells: of what people write, and that say
// something new.
func Lasting(changes []snapshot.Change) []snapshot.Change {
	var out []snapshot.Change
	for _, c := range changes {
		if !SaysNothingNew(c) && (lasts(c.Before) || lasts(c.After)) {
			out = append(out, c)
		}
	}
	return out
}

func lasts(o *api.Object) bool { return o != nil && o.Owner != api.Ephemeral }

// ResultsOf is what changes did to each object.
func ResultsOf(changes []snapshot.Change) []Result {
	out := make([]Result, len(changes))
	for i, c := range changes {
		out[i] = Result{c.Ref(), Updated}
		switch {
		case c.Before == nil:
			out[i].Action = Created
		case c.After == nil:
			out[i].Action = Deleted
		}
	}
	return out
}

// Undoing are the changes from now to what was, by ref, where that is not the same already.
func Undoing(now *snapshot.Snapshot, was map[api.Ref]*api.Object) []snapshot.Change {
	var out []snapshot.Change
	for _, ref := range slices.SortedFunc(maps.Keys(was), api.Ref.Compare) {
		before, _ := now.Get(ref)
		after := was[ref]
		same := before == after || before != nil && after != nil && Same(before, after)
		if !same && (lasts(before) || lasts(after)) {
			out = append(out, snapshot.Change{Before: before, After: after})
		}
	}
	return out
}
