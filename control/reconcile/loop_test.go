package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// publications are what a loop has published.
type publications struct {
	mu       sync.Mutex
	models   []*resolve.Model
	affected map[string]int
}

func (p *publications) publish(m *resolve.Model, a resolve.Affected) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.models = append(p.models, m)
	for _, r := range a.Dataplanes {
		p.affected[r.Name]++
	}
}

func (p *publications) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.models)
}

// newest is the revision that was published last.
func (p *publications) newest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.models) == 0 {
		return 0
	}
	return p.models[len(p.models)-1].Snapshot().Revision()
}

// running is a loop over a memory store.
func running(t *testing.T) (*memory.Store, *Loop, *publications) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s := memory.New(snapshot.New(0), nil, time.Now)
	p := &publications{affected: map[string]int{}}
	l := New(log, telemetry.NewObserver(telemetry.New(""), telemetry.Untraced(), events.NewBus(), new(storage.Authors)), p.publish)
	state, w := s.Watch()
	empty, _ := world.Compile(snapshot.New(0))
	l.Begin(empty, state, func() {})
	follow(t, l, w)
	return s, l, p
}

// follow runs a loop until the test ends.
func follow(t *testing.T, l *Loop, w store.Watch) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, w) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the loop ended with %v", err)
		}
	})
}

func dataplane(t *testing.T, name, service string) *api.Object {
	t.Helper()
	objects, found := world.Decode("", fmt.Appendf(nil, "type: Dataplane\nmesh: default\nname: %s\nnetworking:\n  address: 127.0.0.1\n"+
		"  inbound: [{port: 8080, tags: {kuma.io/service: %s}}]\n", name, service))
	if len(objects) != 1 {
		t.Fatal(found)
	}
	return objects[0]
}

func apply(t *testing.T, s *memory.Store, objects ...*api.Object) uint64 {
	t.Helper()
	writes := make([]store.Write, len(objects))
	for i, o := range objects {
		writes[i] = store.Write{Put: o}
	}
	state, _, err := s.Apply(t.Context(), store.Writes(writes...))
	if err != nil {
		t.Fatal(err)
	}
	return state.Revision()
}

func TestAModelCoversWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	s, l, _ := running(t)
	for i := range 50 {
		name := fmt.Sprintf("dp-%d", i)
		revision := apply(t, s, dataplane(t, name, "web"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		m, err := l.Model(ctx, revision)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}); !ok {
			t.Fatalf("%s was acknowledged and is not in the model", name)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.Model(ctx, 1<<40); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a revision that does not come: %v", err)
	}
}

func TestAStormCoalescesAndLosesNothing(t *testing.T) {
	t.Parallel()
	s, _, p := running(t)
	before := p.count()
	const changes = 300
	for i := range changes {
		apply(t, s, dataplane(t, fmt.Sprintf("dp-%d", i%30), fmt.Sprintf("web-%d", i)))
	}
	last := s.Snapshot().Revision()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		arrived := len(p.models) > 0 && p.models[len(p.models)-1].Snapshot().Revision() == last
		p.mu.Unlock()
		if arrived {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the last revision was not published")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.models) - before; n >= changes {
		t.Errorf("%d publications for %d changes", n, changes)
	}
	for i := range 30 {
		if p.affected[fmt.Sprintf("dp-%d", i)] == 0 {
			t.Errorf("dp-%d changed and nobody was told", i)
		}
	}
}

func TestAnObjectThatBreaksTheResolverIsLeftOut(t *testing.T) {
	t.Parallel()
	s, l, _ := running(t)
	apply(t, s, dataplane(t, "good-0", "web"))
	bad := *dataplane(t, "bad", "web")
	bad.Spec = (*api.Dataplane)(nil) // no document can do that; a bug could
	revision := apply(t, s, dataplane(t, "good-1", "web"), &bad, dataplane(t, "good-2", "web"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := l.Model(ctx, revision)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good-0", "good-1", "good-2"} {
		if _, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}); !ok {
			t.Errorf("%s was taken down with it", name)
		}
	}
	if notes := m.Reader(nil).NotesOn(bad.Ref); len(notes) != 1 || notes[0].Code != conditions.Unresolvable {
		t.Errorf("notes on it are %v", notes)
	}
	revision = apply(t, s, dataplane(t, "bad", "repaired"))
	if m, err = l.Model(ctx, revision); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Dataplane(bad.Ref); !ok || len(m.Failures()) != 0 {
		t.Errorf("it does not come back: %v", m.Failures())
	}
	if m, err = l.Model(ctx, apply(t, s, &bad)); err != nil || len(m.Reader(nil).NotesOn(bad.Ref)) != 1 {
		t.Fatalf("it breaks again, and nothing says so, %v", err)
	}
	state, _, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &bad.Ref}))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = l.Model(ctx, state.Revision()); err != nil || len(m.Failures())+len(m.Reader(nil).NotesOn(bad.Ref)) != 0 {
		t.Errorf("it is gone, and reported is %v, %v", m.Failures(), err)
	}
}

// What is created and deleted before anybody looks changes nothing, but whoever
// asks for the model afterwards must not wait for a change that never comes.
func TestAModelCoversWhatCameAndWent(t *testing.T) {
	t.Parallel()
	s := memory.New(snapshot.New(0), nil, time.Now)
	p := &publications{affected: map[string]int{}}
	l := New(slog.New(slog.DiscardHandler), telemetry.NewObserver(telemetry.New(""), telemetry.Untraced(), events.NewBus(), new(storage.Authors)), p.publish)
	state, w := s.Watch()
	empty, _ := world.Compile(snapshot.New(0))
	l.Begin(empty, state, func() {})
	o := dataplane(t, "brief", "web")
	apply(t, s, o)
	last, _, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &o.Ref}))
	if err != nil {
		t.Fatal(err)
	}
	follow(t, l, w)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := NewDocuments(s, l, func() error { return nil }).Model(ctx); err != nil {
		t.Fatal(err)
	}
	for p.newest() != last.Revision() {
		select {
		case <-ctx.Done():
			t.Fatalf("revision %d was not published", last.Revision())
		case <-time.After(time.Millisecond):
		}
	}
	if len(p.affected) != 0 {
		t.Errorf("%v were told of a change", p.affected)
	}
}

// A new owner of what stands there is news for the store alone.
func TestATakeoverChangesNothingForSidecars(t *testing.T) {
	t.Parallel()
	s, l, p := running(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := l.Model(ctx, apply(t, s, dataplane(t, "dp", "web"))); err != nil {
		t.Fatal(err)
	}
	taken := *dataplane(t, "dp", "web")
	taken.Owner = api.Directory
	taken.Source.File = "dp.yaml"
	revision := apply(t, s, &taken)
	if _, err := l.Model(ctx, revision); err != nil {
		t.Fatal(err)
	}
	for p.newest() != revision {
		select {
		case <-ctx.Done():
			t.Fatal("it was not published")
		case <-time.After(time.Millisecond):
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.affected["dp"] != 1 {
		t.Errorf("it was told of %d changes", p.affected["dp"])
	}
	families, err := l.observe.(*telemetry.Observer).Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "weft_changes_total" && m.GetLabel()[0].GetValue() == "updated" && m.GetCounter().GetValue() != 0 {
				t.Errorf("it counts as an update: %s", f)
			}
		}
	}
}

// A dataplane waits from when its next configuration is resolved until that is published; others do not.
func TestWhoWaits(t *testing.T) {
	t.Parallel()
	l := New(slog.New(slog.DiscardHandler), telemetry.NewObserver(telemetry.New(""), telemetry.Untraced(), events.NewBus(), new(storage.Authors)), (&publications{affected: map[string]int{}}).publish)
	s := memory.New(snapshot.New(0), nil, time.Now)
	state, _ := s.Watch()
	empty, _ := world.Compile(snapshot.New(0))
	l.Begin(empty, state, func() {})
	dp := func(name string) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name} }
	if l.Waits(dp("a")) {
		t.Error("a dataplane waits before anything changed")
	}
	l.take(empty, resolve.Affected{Dataplanes: []api.Ref{dp("a")}}, nil) // nobody publishes it
	if !l.Waits(dp("a")) || l.Waits(dp("b")) || len(l.Unpublished()) != 1 {
		t.Errorf("a waits is %v, b %v; unpublished are %v", l.Waits(dp("a")), l.Waits(dp("b")), l.Unpublished())
	}
}
