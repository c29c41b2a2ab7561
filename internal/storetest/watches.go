package storetest

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// follow applies what a watch says to its first snapshot until done says so.
func follow(t *testing.T, snapshot *snapshot.Snapshot, w store.Watch, done func(map[api.Ref]int) bool) {
	t.Helper()
	state := map[api.Ref]int{}
	for o := range snapshot.All() {
		state[o.Ref] = Port(o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for last := snapshot.Revision(); !done(state); {
		next, changes, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("%v; state %v", err, state)
		}
		if next.Revision() <= last {
			t.Fatalf("revision %d after %d", next.Revision(), last)
		}
		last = next.Revision()
		for _, c := range changes {
			had, ok := state[c.Ref()]
			if ok != (c.Before != nil) || ok && had != Port(c.Before) {
				t.Fatalf("change of %s from %v, but the watch said %d before", c.Ref(), c.Before, had)
			}
			if delete(state, c.Ref()); c.After != nil {
				state[c.Ref()] = Port(c.After)
			}
		}
		if next.Len() != len(state) {
			t.Fatalf("the snapshot has %d objects, the changes give %d", next.Len(), len(state))
		}
	}
}

func watchMissesNothing(t *testing.T, s store.Store) {
	Put(t, s, Service(t, "old", 1))
	snapshot, w := s.Watch()
	defer w.Stop()
	go func() {
		for i := range 200 {
			if i%3 == 2 {
				ref := Service(t, fmt.Sprintf("s%d", i%10), 1).Ref
				_, _, _ = s.Apply(context.Background(), store.Writes(store.Write{Delete: &ref}))
				continue
			}
			_, _, _ = s.Apply(context.Background(), store.Writes(store.Write{Put: Service(t, fmt.Sprintf("s%d", i%10), i+1)}))
		}
		_, _, _ = s.Apply(context.Background(), store.Writes(store.Write{Put: Service(t, "last", 1)}))
	}()
	follow(t, snapshot, w, func(state map[api.Ref]int) bool { return state[Service(t, "last", 1).Ref] == 1 })
}

func slowWatch(t *testing.T, s store.Store) {
	snapshot, w := s.Watch()
	defer w.Stop()
	for i := range 50 {
		Put(t, s, Service(t, "a", i+1))
	}
	ref := Service(t, "b", 1).Ref
	Put(t, s, Service(t, "b", 1))
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &ref})); err != nil {
		t.Fatal(err)
	}
	next, changes, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 1 || changes[0].Before != nil || Port(changes[0].After) != 50 {
		t.Errorf("%d changes after %d revisions", len(changes), next.Revision()-snapshot.Revision())
	}
}

// slowWatchOfMany: one object that waits already hides none that comes with it.
func slowWatchOfMany(t *testing.T, s store.Store) {
	_, w := s.Watch()
	defer w.Stop()
	Put(t, s, Service(t, "b", 1))
	Put(t, s, Service(t, "a", 1), Service(t, "b", 2), Service(t, "c", 1))
	_, changes, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range changes {
		got[c.Ref().Name] = Port(c.After)
	}
	if want := map[string]int{"a": 1, "b": 2, "c": 1}; !maps.Equal(got, want) {
		t.Errorf("it says %v, want %v", got, want)
	}
}

// said: a reader's changes are its own, whoever falls behind.
func said(t *testing.T, s store.Store) {
	_, slow := s.Watch()
	defer slow.Stop()
	_, quick := s.Watch()
	defer quick.Stop()
	Put(t, s, Service(t, "a", 1))
	_, changes, err := quick.Next(t.Context())
	if err != nil || len(changes) != 1 {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	Put(t, s, Service(t, "a", 2))
	if got := Port(changes[0].After); got != 1 {
		t.Errorf("port 1 was said, and reads %d after the next apply", got)
	}
}

// cameAndWent: who waits for a revision learns of it, even where all that it
// changed is as it was.
func cameAndWent(t *testing.T, s store.Store) {
	_, w := s.Watch()
	defer w.Stop()
	ref := Service(t, "a", 1).Ref
	Put(t, s, Service(t, "a", 1))
	last, _, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &ref}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	next, changes, err := w.Next(ctx)
	if err != nil || next.Revision() != last.Revision() || len(changes) != 0 {
		t.Errorf("%d changes, %v; want revision %d without any", len(changes), err, last.Revision())
	}
}

func watchEnds(t *testing.T, s store.Store) {
	_, w := s.Watch()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Next(ctx); err == nil {
		t.Error("a cancelled Next answered")
	}
	w.Stop()
	w.Stop()
	Put(t, s, Service(t, "a", 1))
	if _, _, err := w.Next(t.Context()); err == nil {
		t.Error("a stopped watch answered")
	}
}
