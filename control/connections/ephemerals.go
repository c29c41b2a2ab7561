package connections

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// Ephemerals are the Dataplanes that sidecars brought along. One whose sidecar
// stays away for longer than the grace is removed, so that no traffic goes to a
// workload that is gone; it is back as soon as its sidecar is, which may only
// have been cut off. What somebody else has taken over is left alone.
type Ephemerals struct {
	into      store.Store
	connected func(api.Ref) bool
	after     time.Duration
	log       *slog.Logger
	wake      chan struct{} // has a token while due is not empty; closed at the end
	done      chan struct{} // closed when the worker has ended

	mu     sync.Mutex
	timers map[api.Ref]*time.Timer
	due    map[api.Ref]bool // whom to look at now
	away   unconnected
	closed bool
}

// firstVisit is how much longer than usual a sidecar may take that has just
// asked for its bootstrap, or lived when the control plane was restarted.
const firstVisit = time.Minute

// secondTry is the pause after a write that failed.
const secondTry = time.Second

func NewEphemerals(into store.Store, connected func(api.Ref) bool, after time.Duration, log *slog.Logger) *Ephemerals {
	g := &Ephemerals{into: into, connected: connected, after: after, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		timers: map[api.Ref]*time.Timer{}, due: map[api.Ref]bool{}, away: newUnconnected()}
	for o := range into.Snapshot().OfKind(api.KindDataplane) {
		if o.Owner == api.Ephemeral {
			g.expect(o.Ref.AsNode(), after+firstVisit)
		}
	}
	go g.work()
	return g
}

// Arrived is told of a sidecar that got its bootstrap and will connect, and of
// the Dataplane that it brought along.
func (g *Ephemerals) Arrived(o *api.Object) {
	name := o.Ref.AsNode()
	g.mu.Lock()
	if g.into.Snapshot().Has(o.Ref) {
		g.away.drop(name)
	} else { // it was removed at this moment, as one of an absent sidecar
		g.away.keep(name, o, time.Now())
	}
	g.mu.Unlock()
	g.expect(name, g.after+firstVisit)
}

// Joined is told of each new stream.
func (g *Ephemerals) Joined(ref api.Ref) {
	name := ref.AsNode()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away.get(name) != nil {
		g.lookAt(name)
	}
}

// Left is told of the end of a stream.
func (g *Ephemerals) Left(ref api.Ref) {
	name := ref.AsNode()
	g.mu.Lock()
	mine := g.away.get(name) != nil // and may be on its way back into the store
	g.mu.Unlock()
	if !mine {
		s := g.into.Snapshot()
		o, ok := s.Get(name.Resolve(s.Has))
		mine = ok && o.Owner == api.Ephemeral
	}
	if mine {
		g.expect(name, g.after)
	}
}

// expect looks after that time whether the sidecar is there.
func (g *Ephemerals) expect(name api.Ref, within time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	if t := g.timers[name]; t != nil {
		t.Stop()
	}
	var own *time.Timer
	own = time.AfterFunc(within, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.timers[name] == own {
			delete(g.timers, name)
			g.lookAt(name)
		}
	})
	g.timers[name] = own
}

// lookAt makes the worker look at an ephemeral dataplane. It needs mu.
func (g *Ephemerals) lookAt(name api.Ref) {
	if g.closed {
		return
	}
	g.due[name] = true
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// work looks at all who are due at once: after a cut they are many, and one
// revision is enough for them.
func (g *Ephemerals) work() {
	defer close(g.done)
	for range g.wake {
		moves := g.decide()
		if len(moves) > 0 {
			g.do(moves)
		}
	}
}

// move is an ephemeral dataplane that goes or comes back.
type move struct {
	name   api.Ref
	object *api.Object
	back   bool
}

// decide is who of those who are due goes, and who comes back. Who goes is
// remembered before it is gone, so that a stream that begins meanwhile finds it.
func (g *Ephemerals) decide() []move {
	g.mu.Lock()
	defer g.mu.Unlock()
	snapshot := g.into.Snapshot()
	var moves []move
	for name := range g.due {
		o, exists := snapshot.Get(name.Resolve(snapshot.Has))
		was := g.away.get(name)
		if !exists {
			o = was
		}
		switch {
		case o == nil:
		case g.connected(name) || g.connected(o.Ref):
			if !exists && snapshot.Has(api.Ref{Kind: api.KindMesh, Name: o.Mesh}) {
				moves = append(moves, move{name, was, true})
			}
		case exists && o.Owner == api.Ephemeral:
			g.away.keep(name, o, time.Now())
			moves = append(moves, move{name, o, false})
		}
	}
	clear(g.due)
	return moves
}

func (g *Ephemerals) do(moves []move) {
	_, results, err := g.into.Apply(context.Background(), func(now *snapshot.Snapshot) ([]store.Write, error) { return writesOf(now, moves), nil })
	if err != nil {
		g.log.Error("dataplanes of sidecars that left or came back were not changed, trying again", "dataplanes", len(moves), "error", err)
		for _, m := range moves {
			g.expect(m.name, secondTry)
		}
		return
	}
	acts := map[api.Ref]store.WriteAction{}
	for _, r := range results {
		acts[r.Ref] = r.Action
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range moves {
		switch acts[m.object.Ref] {
		case store.Deleted:
			g.away.keep(m.name, m.object, time.Now()) // a bootstrap in between took it for present
			g.log.Info("dataplane removed, its sidecar is gone", "dataplane", m.object.Ref.String())
		case store.Created:
			g.away.drop(m.name)
			g.log.Info("dataplane is back, its sidecar connected again", "dataplane", m.object.Ref.String())
		default: // somebody else has written it
			g.away.drop(m.name)
		}
	}
}

// writesOf are the moves that nobody has forestalled, as writes.
func writesOf(now *snapshot.Snapshot, moves []move) []store.Write {
	var writes []store.Write
	for _, m := range moves {
		there, _ := now.Get(m.object.Ref)
		switch {
		case m.back && there == nil && now.Has(api.Ref{Kind: api.KindMesh, Name: m.object.Mesh}):
			writes = append(writes, store.Write{Put: m.object})
		case !m.back && there == m.object:
			writes = append(writes, store.Write{Delete: &m.object.Ref})
		}
	}
	return writes
}

// Close forgets all timers and waits for what is being written.
func (g *Ephemerals) Close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.wake)
		for _, t := range g.timers {
			t.Stop()
		}
	}
	g.mu.Unlock()
	<-g.done
}
