package storetest

import (
	"testing"

	"github.com/weftmesh/weft/api"
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
	first, _ := Put(t, s, owned(Service(t, "a", 1), api.Guest))
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

func conditional(t *testing.T, s store.Store) {
	never := func(*api.Object) bool { return false }
	absent := func(o *api.Object) bool { return o == nil }
	a, b := Service(t, "a", 1), Service(t, "b", 1)
	for _, step := range []struct {
		what   string
		writes []store.Write
		want   []store.Action
		left   int
	}{
		{"nothing may be put", []store.Write{{Put: a, If: never}}, []store.Action{store.Unchanged}, 0},
		{"what is absent may", []store.Write{{Put: a, If: absent}, {Put: Service(t, "a", 2), If: absent}}, []store.Action{store.Created, store.Unchanged}, 1},
		{"the others are done", []store.Write{{Delete: &a.Ref, If: never}, {Put: b}}, []store.Action{store.Unchanged, store.Created}, 2},
		{"what stands as it should goes", []store.Write{{Delete: &a.Ref, If: func(o *api.Object) bool { return Port(o) == 1 }}}, []store.Action{store.Deleted}, 1},
	} {
		snapshot, results, err := s.Apply(t.Context(), step.writes)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Action != step.want[i] {
				t.Errorf("%s: write %d was %s, want %s", step.what, i, r.Action, step.want[i])
			}
		}
		if snapshot.Len() != step.left {
			t.Errorf("%s: %d objects, want %d", step.what, snapshot.Len(), step.left)
		}
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
		act  store.Action
		want bool
	}{
		{"a client's new object", marked, false, store.Created, false},
		{"weft marks it", marked, true, store.Updated, true},
		{"a client writes it back without the label", plain, false, store.Unchanged, true},
		{"a client changes it", Service(t, "a", 2), false, store.Updated, true},
		{"weft takes the mark away", plain, true, store.Updated, false},
	} {
		snapshot, results, err := s.Apply(t.Context(), []store.Write{{Put: step.put, Own: step.own}})
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := snapshot.Get(plain.Ref); o.IsDefault() != step.want || results[0].Action != step.act {
			t.Errorf("%s: marked %v, %s", step.what, o.IsDefault(), results[0].Action)
		}
	}
}
