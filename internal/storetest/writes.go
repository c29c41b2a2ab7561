package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// owned is an object as that owner writes it.
func owned(o *api.Object, by api.Owner) *api.Object {
	c := *o
	c.Owner = by
	return &c
}

// lastWriterOwns: also where the writer says what stands there already, so that
// nobody takes away what another has taken over.
func lastWriterOwns(t *testing.T, s store.Store) {
	snapshot, w := s.Watch()
	defer w.Stop()
	ref := Service(t, "a", 1).Ref
	first, _ := Put(t, s, owned(Service(t, "a", 1), api.Ephemeral))
	before, _ := first.Get(ref)
	for _, owner := range []api.Owner{api.User, api.Directory, api.Directory, api.User} {
		snapshot, results := Put(t, s, owned(Service(t, "a", 1), owner))
		o, _ := snapshot.Get(ref)
		if results[0].Action != store.Unchanged || o.Owner != owner {
			t.Errorf("owner %d of an equal document: %s, owner is %d", owner, results[0].Action, o.Owner)
		}
		if !o.Created.Equal(before.Created) || !o.Modified.Equal(before.Modified) {
			t.Errorf("owner %d: created %s and modified %s, was %s and %s", owner, o.Created, o.Modified, before.Created, before.Modified)
		}
	}
	if got := s.Snapshot().Revision() - first.Revision(); got != 3 {
		t.Errorf("%d revisions for three new owners", got)
	}
	Put(t, s, Service(t, "last", 1))
	follow(t, snapshot, w, func(state map[api.Ref]int) bool { return state[Service(t, "last", 1).Ref] == 1 })
}

// decides: a plan sees what the writes are done to, and its refusal refuses all.
func decides(t *testing.T, s store.Store) {
	a := Service(t, "a", 1)
	unless := func(r api.Ref, writes ...store.Write) store.Plan {
		return func(now *snapshot.Snapshot) ([]store.Write, error) {
			if now.Has(r) {
				return nil, errTaken
			}
			return writes, nil
		}
	}
	first, _, err := s.Apply(t.Context(), unless(a.Ref, store.Write{Put: a}))
	if err != nil || !first.Has(a.Ref) {
		t.Fatalf("%v, %d objects", err, first.Len())
	}
	if _, _, err := s.Apply(t.Context(), unless(a.Ref, store.Write{Put: Service(t, "b", 1)}, store.Write{Delete: &a.Ref})); !errors.Is(err, errTaken) {
		t.Errorf("the refusal became %v", err)
	}
	if now := s.Snapshot(); now != first {
		t.Errorf("revision %d after %d: a refused plan was carried out", now.Revision(), first.Revision())
	}
	if now, results, err := s.Apply(t.Context(), store.Writes()); err != nil || len(results) != 0 || now.Revision() != first.Revision() {
		t.Errorf("nothing to do: %v, %v, revision %d after %d", err, results, now.Revision(), first.Revision())
	}
}

var errTaken = errors.New("it is taken")

// decidesAlone: two plans that each write only while the other has not. The
// second begins while the first is deciding, so that a store which lets go
// between the decision and the write does both.
func decidesAlone(t *testing.T, s store.Store) {
	a, b := Service(t, "a", 1), Service(t, "b", 1)
	var begin sync.Once
	second := make(chan error, 1)
	_, _, first := s.Apply(t.Context(), func(now *snapshot.Snapshot) ([]store.Write, error) {
		begin.Do(func() {
			started := make(chan struct{})
			go func() {
				close(started)
				_, _, err := s.Apply(context.Background(), func(now *snapshot.Snapshot) ([]store.Write, error) {
					if now.Has(a.Ref) {
						return nil, errTaken
					}
					return []store.Write{{Put: b}}, nil
				})
				second <- err
			}()
			<-started
		})
		if now.Has(b.Ref) {
			return nil, errTaken
		}
		return []store.Write{{Put: a}}, nil
	})
	if err := <-second; errors.Is(first, errTaken) == errors.Is(err, errTaken) || s.Snapshot().Len() != 1 {
		t.Errorf("%d objects: the first plan ended with %v, the second with %v", s.Snapshot().Len(), first, err)
	}
}

// countsTogether: read, change and write back loses no step of anybody.
func countsTogether(t *testing.T, s store.Store) {
	const writers, each = 4, 25
	Put(t, s, Service(t, "a", 1))
	next := make([]*api.Object, writers*each+2)
	for i := range next[1:] {
		next[i+1] = Service(t, "a", i+1)
	}
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for range each {
				_, _, err := s.Apply(context.Background(), func(now *snapshot.Snapshot) ([]store.Write, error) {
					o, _ := now.Get(next[1].Ref)
					return []store.Write{{Put: next[Port(o)+1]}}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if o, _ := s.Snapshot().Get(next[1].Ref); Port(o) != writers*each+1 {
		t.Errorf("it counted to %d, want %d", Port(o), writers*each+1)
	}
}

// onlyOwnWritesMark: the label weft.io/default comes and goes with writes of the
// control plane itself; every other leaves it as it is.
func onlyOwnWritesMark(t *testing.T, s store.Store) {
	marked, plain := Service(t, "a", 1).MarkDefault(true), Service(t, "a", 1)
	for _, step := range []struct {
		what string
		put  *api.Object
		own  bool
		act  store.WriteAction
		want bool
	}{
		{"a client's new object", marked, false, store.Created, false},
		{"weft marks it", marked, true, store.Updated, true},
		{"a client writes it back without the label", plain, false, store.Unchanged, true},
		{"a client changes it", Service(t, "a", 2), false, store.Updated, true},
		{"weft takes the mark away", plain, true, store.Updated, false},
	} {
		snapshot, results, err := s.Apply(t.Context(), store.Writes(store.Write{Put: step.put, Own: step.own}))
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := snapshot.Get(plain.Ref); o.IsDefault() != step.want || results[0].Action != step.act {
			t.Errorf("%s: marked %v, %s", step.what, o.IsDefault(), results[0].Action)
		}
	}
}

func times(t *testing.T, s store.Store) {
	snapshot, _ := Put(t, s, Service(t, "a", 1))
	created, _ := snapshot.Get(Service(t, "a", 1).Ref)
	snapshot, _ = Put(t, s, Service(t, "a", 2))
	updated, _ := snapshot.Get(created.Ref)
	if created.Created.IsZero() || !updated.Created.Equal(created.Created) || updated.Modified.Before(created.Modified) {
		t.Errorf("created %s, then created %s and modified %s", created.Created, updated.Created, updated.Modified)
	}
}
