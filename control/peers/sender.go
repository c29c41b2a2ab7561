package peers

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/streams"
)

// The rhythm of what is told.
const (
	// heartbeat is how often a replica says that it lives where it has nothing else to say.
	heartbeat = time.Second
	// together is how long what happens is gathered, so that an acknowledgement of many
	// sidecars is few messages.
	together = 20 * time.Millisecond
	// atOnce bounds the sidecars and the events of one message.
	atOnce = 512
	// firstInterest is how long a follower may take to say who it is.
	firstInterest = 10 * time.Second
)

// follower is a replica that is told what this one holds.
type follower struct {
	dirty    changedSidecars // guarded by Replica.mu, as heard is
	observed store.Position
	names    []string      // of all resources that this replica follows; nil where they were told
	wake     chan struct{} // has a token while there is something to tell
	end      context.CancelCauseFunc

	told telling // of the goroutine that tells
}

// SidecarChanged says that the state of a sidecar here may be another than before, by its name or by
// the one that its agent knows.
func (r *Replica) SidecarChanged(ref api.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := range r.followers {
		f.dirty.add(ref)
		f.rouse()
	}
}

// rouse is called with Replica.mu held.
func (f *follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Moved takes what a publication of the store adds to its position.
func (r *Replica) Moved(s store.Step) {
	r.mu.Lock()
	r.ledger.move(s)
	r.advance()
	began := r.ledger.model != nil // else Begin may be to come
	r.mu.Unlock()
	if began && r.cfg.Settled != nil {
		r.cfg.Settled()
	}
}

// Published says what holds now, after it was handed to all streams, and which dataplanes it
// serves otherwise than before.
func (r *Replica) Published(m source, revision uint64, affected []api.Ref) {
	var here []api.Ref
	for _, ref := range affected {
		_, streams := r.cfg.ADS.Status(ref)
		if !streams { // it may be known by its name from now on, or no more
			_, streams = r.cfg.Agents.Stream(ref)
		}
		if streams {
			here = append(here, ref)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.publish(m, revision, affected)
	for f := range r.followers {
		for _, ref := range here {
			f.dirty.add(ref)
		}
	}
	r.advance()
}

// advance has followers told how far this replica is. It needs mu.
func (r *Replica) advance() {
	more := store.Position{}
	for name, n := range r.ledger.observed {
		if n != r.said[name] {
			r.said[name], more[name] = n, n
		}
	}
	others := !slices.Equal(r.names, r.ledger.follows)
	r.names = r.ledger.follows
	for f := range r.followers {
		maps.Copy(f.observed, more)
		if others {
			f.names = r.names
		}
		if len(f.observed)+len(f.dirty)+len(f.names) > 0 {
			f.rouse()
		}
	}
}

// Follow tells a peer what this replica holds.
func (r *Replica) Follow(g Peers_FollowServer) error {
	who, err := authn.Authenticate(g.Context(), r.cfg.Authenticator)
	if err != nil {
		return err
	}
	if _, ok := r.cfg.ADS.Revision(); !ok {
		return streams.ErrEarly
	}
	first, err := streams.Await(g.Context(), firstInterest, g.Recv)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(g.Context())
	defer end(nil)
	defer who.Expire(end)()
	f := &follower{dirty: changedSidecars{}, observed: store.Position{}, wake: make(chan struct{}, 1), end: end, told: telling{}}
	if err := r.join(f); err != nil {
		return err
	}
	defer r.leave(f)
	interests := make(chan *Interest, 1)
	go func() { // ends with the stream
		for {
			q, err := g.Recv()
			if err != nil {
				end(nil)
				return
			}
			select {
			case interests <- q:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := g.Send(&Told{Replica: r.cfg.Name}); err != nil {
		return err
	}
	err = r.tell(ctx, g, f, first, interests)
	if cause := context.Cause(ctx); err == nil && g.Context().Err() == nil && cause != context.Canceled {
		return cause
	}
	return err
}

// join makes f one who is told; what there is already, too.
func (r *Replica) join(f *follower) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return streams.ErrClosed
	}
	maps.Copy(f.observed, r.ledger.observed)
	f.names = r.names
	r.followers[f] = true
	r.telling.Add(1)
	r.mu.Unlock()
	all := r.cfg.Agents.Attached() // not under mu, under which nobody else is asked
	for st := range r.cfg.ADS.Peers() {
		all = append(all, st.Dataplane)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range all {
		f.dirty.add(ref)
	}
	f.rouse()
	return nil
}

func (r *Replica) leave(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers, f)
	r.telling.Done()
}

// tell tells until ctx ends.
func (r *Replica) tell(ctx context.Context, g Peers_FollowServer, f *follower, want *Interest, interests <-chan *Interest) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	var events <-chan events.Event
	var missed func() uint64
	deaf := func() {}
	defer func() { deaf() }()
	listen := func(wants bool) {
		deaf()
		events, deaf = nil, func() {}
		if wants {
			events, missed, deaf = r.cfg.Events.Relay()
		}
	}
	listen(want.GetEvents())
	for {
		select {
		case <-ctx.Done():
			return nil
		case q := <-interests:
			listen(q.GetEvents())
		case <-beat.C:
			if err := g.Send(&Told{}); err != nil {
				return err
			}
		case e := <-events:
			if err := g.Send(&Told{Missed: missed(), Events: eventsOf(e, events)}); err != nil {
				return err
			}
		case <-f.wake:
			for _, t := range r.news(f) {
				if err := g.Send(t); err != nil {
					return err
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(together):
			}
		}
	}
}

// news is what a follower is not told yet: the sidecars first, and with the last of them how
// far this replica is.
func (r *Replica) news(f *follower) []*Told {
	r.mu.Lock()
	heard, names, dirty := f.observed, f.names, f.dirty
	f.observed, f.names, f.dirty = store.Position{}, nil, changedSidecars{}
	r.mu.Unlock()
	out := []*Told{{}}
	for _, own := range slices.SortedFunc(maps.Keys(dirty), api.Ref.Compare) {
		last := out[len(out)-1]
		if len(last.Sidecars)+len(last.Gone) >= atOnce {
			last = &Told{}
			out = append(out, last)
		}
		s, gone := f.told.next(dirty[own], r.cfg.NameOf, r.here)
		for _, name := range gone {
			last.Gone = append(last.Gone, named(name))
		}
		if s != nil {
			last.Sidecars = append(last.Sidecars, s)
		}
	}
	end := out[len(out)-1]
	end.Heard, end.Follows, end.Whole = heard, names, true
	return out
}

// here is a sidecar that this replica holds; nil for none.
func (r *Replica) here(ref api.Ref) *Sidecar {
	st, _ := r.cfg.ADS.Status(ref)
	agent, attached := r.cfg.Agents.Stream(ref)
	if !st.Connected && !attached {
		return nil
	}
	s := sidecarOf(ref, st, agent, attached)
	if r.cfg.SidecarTLS != nil {
		s.Secured, s.Tls = r.cfg.SidecarTLS(ref, attached)
		s.Tls = s.Tls && st.Connected
	}
	return s
}

// eventsOf encodes an event with those that wait behind it.
func eventsOf(e events.Event, more <-chan events.Event) (out [][]byte) {
	for range atOnce {
		if text, err := json.Marshal(e); err == nil {
			out = append(out, text)
		}
		select {
		case e = <-more:
		default:
			return out
		}
	}
	return out
}
