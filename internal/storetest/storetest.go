// Package storetest is what every store promises, as tests: each
// implementation runs them over itself.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

var catalog = api.NewCatalog(api.Types()...)

// Decode reads the one document in text.
func Decode(file string, text []byte) (*api.Object, error) {
	objects, err := decode.Objects(catalog, file, text)
	if api.Refuses(err) {
		return nil, err
	}
	return objects[0], nil
}

// Service is a MeshService of that name with that port, as a decoded document.
func Service(t *testing.T, name string, port int) *api.Object {
	t.Helper()
	o, err := Decode("", fmt.Appendf(nil, "type: MeshService\nmesh: default\nname: %s\nspec:\n  ports: [{port: %d}]\n", name, port))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Port is what Service set.
func Port(o *api.Object) int { return int(o.Spec.(*api.MeshService).Ports[0].Port) }

// Put writes objects and fails the test if the store refuses.
func Put(t *testing.T, s store.Store, objects ...*api.Object) (*snapshot.Snapshot, []store.Result) {
	t.Helper()
	writes := make([]store.Write, len(objects))
	for i, o := range objects {
		writes[i] = store.Write{Put: o}
	}
	snapshot, results, err := s.Apply(t.Context(), store.Writes(writes...))
	if err != nil {
		t.Fatal(err)
	}
	return snapshot, results
}

// Run holds a store to all promises. open makes a new empty one for each.
func Run(t *testing.T, open func(*testing.T) store.Store) {
	for name, promise := range map[string]func(*testing.T, store.Store){
		"an apply is one revision":               oneRevision,
		"writing the same again changes nothing": unchanged,
		"the last writer is the owner":           lastWriterOwns,
		"a plan decides what is written":         decides,
		"nobody writes while a plan decides":     decidesAlone,
		"concurrent changes all count":           countsTogether,
		"only weft marks its default policies":   onlyOwnWritesMark,
		"times are the store's":                  times,
		"deleting twice is safe":                 deleteTwice,
		"a snapshot never changes":               immutable,
		"a watch misses nothing":                 watchMissesNothing,
		"a slow watch gets the last state":       slowWatch,
		"a slow watch gets every object":         slowWatchOfMany,
		"what a watch said stays said":           said,
		"a watch tells of what came and went":    cameAndWent,
		"a watch can be given up":                watchEnds,
		"concurrent writers lose nothing":        concurrent,
		"a closed store refuses":                 closed,
		"a cancelled apply does nothing":         cancelled,
		"what is told of its source holds":       source,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() { _ = s.Close() })
			promise(t, s)
		})
	}
}

// source: of a store that takes writes, all that there was is known once it is open.
func source(t *testing.T, s store.Store) {
	d := s.(store.BackingStore)
	Put(t, s, Service(t, "a", 1))
	if err := errors.Join(d.Synced(t.Context()), d.Waiting(), d.ReadOnly()); err != nil || d.Stale() != 0 {
		t.Errorf("%v, stale for %v", err, d.Stale())
	}
	if !d.Gone(api.KindMeshService, "b") {
		t.Error("what is not there may be there")
	}
}

func oneRevision(t *testing.T, s store.Store) {
	before := s.Snapshot().Revision()
	snapshot, results := Put(t, s, Service(t, "a", 1), Service(t, "b", 2), Service(t, "c", 3))
	if got := snapshot.Revision(); got != before+1 {
		t.Errorf("revision went from %d to %d", before, got)
	}
	for _, r := range results {
		if r.Action != store.Created {
			t.Errorf("%s was %s", r.Ref, r.Action)
		}
		if _, ok := snapshot.Get(r.Ref); !ok {
			t.Errorf("%s is not in the snapshot", r.Ref)
		}
	}
	if s.Snapshot() != snapshot {
		t.Error("the store serves another snapshot than it answered")
	}
}

func unchanged(t *testing.T, s store.Store) {
	first, _ := Put(t, s, Service(t, "a", 1))
	second, results := Put(t, s, Service(t, "a", 1))
	if results[0].Action != store.Unchanged || first.Revision() != second.Revision() {
		t.Errorf("%s, revision %d after %d", results[0].Action, second.Revision(), first.Revision())
	}
	third, results := Put(t, s, Service(t, "a", 1), Service(t, "b", 2))
	if results[0].Action != store.Unchanged || results[1].Action != store.Created || third.Revision() != first.Revision()+1 {
		t.Errorf("%v at revision %d", results, third.Revision())
	}
	_, results = Put(t, s, Service(t, "a", 9))
	if results[0].Action != store.Updated {
		t.Errorf("another port: %s", results[0].Action)
	}
}

func deleteTwice(t *testing.T, s store.Store) {
	Put(t, s, Service(t, "a", 1))
	ref := Service(t, "a", 1).Ref
	for _, want := range []store.WriteAction{store.Deleted, store.Missing} {
		snapshot, results, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &ref}))
		if err != nil || results[0].Action != want {
			t.Fatalf("%v %v, want %s", results, err, want)
		}
		if _, ok := snapshot.Get(ref); ok {
			t.Error("it is still there")
		}
	}
}

func immutable(t *testing.T, s store.Store) {
	first, _ := Put(t, s, Service(t, "a", 1))
	Put(t, s, Service(t, "a", 2), Service(t, "b", 3))
	o, _ := first.Get(Service(t, "a", 1).Ref)
	if first.Len() != 1 || Port(o) != 1 {
		t.Errorf("the old snapshot has %d objects, port %d", first.Len(), Port(o))
	}
}

func concurrent(t *testing.T, s store.Store) {
	const writers, each = 8, 20
	snapshot, w := s.Watch()
	defer w.Stop()
	var wait sync.WaitGroup
	for n := range writers {
		objects := make([]*api.Object, each)
		for i := range objects {
			objects[i] = Service(t, fmt.Sprintf("w%d-%d", n, i), i+1)
		}
		wait.Go(func() {
			for _, o := range objects {
				if _, _, err := s.Apply(context.Background(), store.Writes(store.Write{Put: o})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	follow(t, snapshot, w, func(state map[api.Ref]int) bool { return len(state) == writers*each })
	wait.Wait()
}

func closed(t *testing.T, s store.Store) {
	_, w := s.Watch()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: Service(t, "a", 1)})); err == nil {
		t.Error("a closed store acknowledged a write")
	}
	if _, _, err := w.Next(t.Context()); err == nil {
		t.Error("a watch of a closed store answered")
	}
}

func cancelled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Apply(ctx, store.Writes(store.Write{Put: Service(t, "a", 1)})); err == nil {
		t.Error("it was applied")
	}
	if s.Snapshot().Len() != 0 {
		t.Error("something was written")
	}
}
