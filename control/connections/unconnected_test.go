package connections

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

func TestWhoIsAwayIsRememberedWithinBounds(t *testing.T) {
	t.Parallel()
	a, now := newUnconnected(), time.Unix(1e9, 0)
	name := func(i int) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: fmt.Sprint(i)} }
	for i := range mostUnconnected + 10 {
		a.keep(name(i), &api.Object{Ref: name(i)}, now)
		a.keep(name(10), &api.Object{Ref: name(10)}, now)
	}
	if len(a.index) != mostUnconnected || a.order.Len() != mostUnconnected {
		t.Errorf("%d are remembered", len(a.index))
	}
	if a.get(name(0)) != nil || a.get(name(10)) == nil || a.get(name(mostUnconnected+9)) == nil {
		t.Error("another than the longest away was forgotten")
	}
	a.keep(name(0), &api.Object{Ref: name(0)}, now.Add(longestAbsence+1))
	if len(a.index) != 1 || a.get(name(0)) == nil {
		t.Errorf("%d are remembered for ever", len(a.index))
	}
}

func TestAnEphemeralDataplaneGoesAndComesThoughTheStoreRefusesAtFirst(t *testing.T) {
	t.Parallel()
	s := &storetest.Refusing{Store: memory.New(snapshot.New(0), nil, time.Now)}
	o := api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: "guest"}, Spec: &api.Dataplane{}}
	o.Owner = api.Ephemeral
	mesh := &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: "default"}, Spec: &api.Mesh{}}
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: mesh}, store.Write{Put: &o})); err != nil {
		t.Fatal(err)
	}
	var connected atomic.Bool
	g := NewEphemerals(s, func(api.Ref) bool { return connected.Load() }, time.Millisecond, slog.New(slog.DiscardHandler))
	defer g.Close()
	for _, here := range []bool{false, true} {
		s.Refuses.Store(true)
		s.Attempts.Store(0)
		connected.Store(here)
		if here {
			g.Joined(o.Ref)
		} else {
			g.Left(o.Ref)
		}
		wait := func(what string, holds func() bool) {
			t.Helper()
			for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("not in a minute: %s, connected %t", what, here)
				}
			}
		}
		wait("the store refuses", func() bool { return s.Attempts.Load() > 0 })
		s.Refuses.Store(false)
		wait("it is done later", func() bool { return s.Snapshot().Has(o.Ref) == here })
	}
}
