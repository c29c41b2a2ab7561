package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// Remembering is a store with a history.
type Remembering interface {
	store.Store
	store.History
}

// RunHistory holds a store that keeps the last most revisions to what a history promises. open
// makes a new empty one, again opens the same one once more.
func RunHistory(t *testing.T, most int, open func(*testing.T) Remembering, again func(*testing.T, Remembering) Remembering) {
	for name, promise := range map[string]func(*testing.T, Remembering){
		"every state can be had again":               everyState(again),
		"a revision says who changed what":           whoAndWhat(again),
		"the oldest go first":                        oldestGo(most, again),
		"what sidecars bring along is no part of it": withoutEphemerals(again),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			promise(t, open(t))
		})
	}
}

// Revisions are all that are kept, newest first.
func Revisions(t *testing.T, s store.History) (all []store.Revision) {
	t.Helper()
	if err := s.Revisions(0, math.MaxUint64, func(r store.Revision) bool { all = append(all, r); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

// Then is what was stored at a revision, as a store tells it.
func Then(t *testing.T, s Remembering, revision uint64) *snapshot.Snapshot {
	t.Helper()
	now := s.Snapshot()
	changes, err := s.Undo(t.Context(), now, revision)
	if err != nil {
		t.Fatalf("revision %d: %v", revision, err)
	}
	return now.With(revision, changes)
}

// Equal fails a test where two snapshots do not hold the same.
func Equal(t *testing.T, got, want *snapshot.Snapshot) {
	t.Helper()
	for o := range want.All() {
		if other, ok := got.Get(o.Ref); !ok || !store.Same(o, other) {
			t.Errorf("at revision %d: %s is %v, want %v", want.Revision(), o.Ref, other, o)
		}
	}
	if got.Len() != want.Len() {
		t.Errorf("at revision %d: %d objects, want %d", want.Revision(), got.Len(), want.Len())
	}
}

func everyState(again func(*testing.T, Remembering) Remembering) func(*testing.T, Remembering) {
	return func(t *testing.T, s Remembering) {
		states := []*snapshot.Snapshot{s.Snapshot()}
		for i := range 12 {
			var writes []store.Write
			for j := range 3 {
				name := fmt.Sprint("s", (i*5+j*3)%7)
				if w := (store.Write{Put: Service(t, name, i+j+1)}); (i+j)%4 != 3 {
					writes = append(writes, w)
				} else {
					ref := w.Ref()
					writes = append(writes, store.Write{Delete: &ref})
				}
			}
			after, _, err := s.Apply(t.Context(), store.Writes(writes...))
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, after)
		}
		for range 2 {
			for _, want := range states {
				Equal(t, Then(t, s, want.Revision()), want)
			}
			s = again(t, s)
		}
	}
}

func whoAndWhat(again func(*testing.T, Remembering) Remembering) func(*testing.T, Remembering) {
	return func(t *testing.T, s Remembering) {
		alice := store.Author{User: "alice", Client: "kumactl/2.13"}
		a, b := Service(t, "a", 1), Service(t, "b", 1)
		if _, _, err := s.Apply(store.By(t.Context(), alice), store.Writes(store.Write{Put: a}, store.Write{Put: b})); err != nil {
			t.Fatal(err)
		}
		after, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: Service(t, "a", 2)}, store.Write{Delete: &b.Ref}, store.Write{Put: Service(t, "c", 3)}))
		if err != nil {
			t.Fatal(err)
		}
		modified, _ := after.Get(a.Ref)
		for range 2 {
			all := Revisions(t, s)
			if len(all) != 2 || all[0].Number != 2 || all[1].Number != 1 {
				t.Fatalf("kept are %v", all)
			}
			if all[1].Author != alice || all[0].Author != (store.Author{}) || !all[0].Time.Equal(modified.Modified) {
				t.Errorf("written by %v, then by %v at %s; want %s", all[1].Author, all[0].Author, all[0].Time, modified.Modified)
			}
			want := []store.Result{{Ref: a.Ref, Action: store.Updated}, {Ref: b.Ref, Action: store.Deleted}, {Ref: Service(t, "c", 3).Ref, Action: store.Created}}
			if !slices.Equal(all[0].Objects, want) {
				t.Errorf("revision 2 did %v, want %v", all[0].Objects, want)
			}
			var between []uint64
			if err := s.Revisions(0, 2, func(r store.Revision) bool { between = append(between, r.Number); return true }); err != nil || !slices.Equal(between, []uint64{1}) {
				t.Errorf("before revision 2 there are %v, %v", between, err)
			}
			s = again(t, s)
		}
	}
}

func oldestGo(most int, again func(*testing.T, Remembering) Remembering) func(*testing.T, Remembering) {
	return func(t *testing.T, s Remembering) {
		states := map[uint64]*snapshot.Snapshot{}
		for i := range most + 5 {
			after, _ := Put(t, s, Service(t, fmt.Sprint("s", i%3), i+1))
			states[after.Revision()] = after
		}
		for range 2 {
			all := Revisions(t, s)
			if len(all) != most || all[len(all)-1].Number != 6 {
				t.Fatalf("%d revisions are kept, the oldest is %d", len(all), all[len(all)-1].Number)
			}
			Equal(t, Then(t, s, 5), states[5])
			var gone *store.GoneError
			if _, err := s.Undo(t.Context(), s.Snapshot(), 4); !errors.As(err, &gone) || gone.Oldest != 5 || gone.Latest != uint64(most+5) {
				t.Errorf("revision 4: %v", err)
			}
			if _, err := s.Undo(t.Context(), s.Snapshot(), uint64(most+6)); !errors.Is(err, store.ErrNoRevision) {
				t.Errorf("a revision that is to come: %v", err)
			}
			s = again(t, s)
		}
	}
}

func withoutEphemerals(again func(*testing.T, Remembering) Remembering) func(*testing.T, Remembering) {
	return func(t *testing.T, s Remembering) {
		guest, err := Decode("", []byte("type: Dataplane\nmesh: default\nname: g\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: g}}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		brought := *guest
		brought.Owner = api.Ephemeral
		Put(t, s, Service(t, "a", 1))
		Put(t, s, &brought)
		Put(t, s, Service(t, "a", 2))
		for range 2 {
			if all := Revisions(t, s); len(all) != 2 || all[0].Number != 3 {
				t.Fatalf("kept are %v", all)
			}
			then := Then(t, s, 1)
			if o, _ := then.Get(Service(t, "a", 1).Ref); Port(o) != 1 || !then.Has(brought.Ref) {
				t.Errorf("at revision 1 there are port %d and the sidecar: %t", Port(o), then.Has(brought.Ref))
			}
			s = again(t, s)
		}
		if _, _, err := s.Apply(context.Background(), store.Writes(store.Write{Put: guest})); err != nil {
			t.Fatal(err)
		}
		if all := Revisions(t, s); len(all) != 2 {
			t.Errorf("another owner of the same is a revision: %v", all)
		}
	}
}
