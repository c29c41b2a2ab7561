package connections

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Sidecars shows the state of the streams in the terms of package inspect.
type Sidecars struct {
	ads       *server.Server
	loop      *reconcile.Loop
	returning *Reconnects
	peers     *peers.Replica // nil where there are none
	lastGood  *LastGood
}

// NewSidecars are those whose streams are here, and those that peers tell of; peers is nil where there
// are none.
func NewSidecars(ads *server.Server, loop *reconcile.Loop, before *Reconnects, peers *peers.Replica, good *LastGood) Sidecars {
	return Sidecars{ads, loop, before, peers, good}
}

// Sidecars is the state of every dataplane that is or was connected, here or to a peer. One
// whose next configuration waits to be published is not in sync, though its stream does not
// know it yet.
func (s Sidecars) Sidecars() []inspect.Sidecar {
	waiting := s.loop.Unpublished()
	elsewhere := s.atPeers()
	out := make([]inspect.Sidecar, 0, s.ads.Known())
	for st := range s.ads.Peers() {
		there, ok := elsewhere[st.Dataplane]
		delete(elsewhere, st.Dataplane)
		out = append(out, s.choose(st, there, ok, waiting[st.Dataplane]))
	}
	for ref, there := range elsewhere {
		out = append(out, s.choose(syncstatus.Status{}, there, true, waiting[ref]))
	}
	now := time.Now()
	for _, ref := range s.returning.All(now) {
		_, known := s.ads.Brief(ref)
		if _, there := elsewhere[ref]; !known && !there && s.returning.Awaits(ref, now) {
			out = append(out, inspect.Sidecar{Dataplane: ref, Awaited: true})
		}
	}
	if order := func(a, b inspect.Sidecar) int { return a.Dataplane.Compare(b.Dataplane) }; !slices.IsSortedFunc(out, order) {
		slices.SortFunc(out, order)
	}
	return out
}

// atPeers are the sidecars whose streams peers have, of several the newest.
func (s Sidecars) atPeers() map[api.Ref]peers.State {
	out := map[api.Ref]peers.State{}
	if s.peers == nil {
		return out
	}
	for _, st := range s.peers.Sidecars() {
		if other, ok := out[st.Sidecar.Dataplane]; !ok || st.Stream.Since.After(other.Stream.Since) {
			out[st.Sidecar.Dataplane] = st
		}
	}
	return out
}

// there is a sidecar whose stream a peer has.
func (s Sidecars) there(dp api.Ref) (peers.State, bool) {
	if s.peers == nil {
		return peers.State{}, false
	}
	return s.peers.Sidecar(dp)
}

// Sidecar is the state of one dataplane.
func (s Sidecars) Sidecar(dp api.Ref) (inspect.Sidecar, bool) {
	waits := s.loop.Waits(dp) // before its stream is looked at, which may be told in between
	st, ok := s.ads.Brief(dp)
	there, elsewhere := s.there(dp)
	if !ok && !elsewhere {
		return inspect.Sidecar{}, false
	}
	return s.choose(st, there, elsewhere, waits), true
}

// choose is the state of a dataplane that is or was connected here, and maybe there. A sidecar
// that moves may have a stream at both for a while, of which the newer one counts.
func (s Sidecars) choose(here syncstatus.Status, there peers.State, elsewhere, waits bool) inspect.Sidecar {
	if elsewhere && !isHere(here, there) {
		out, of := there.Sidecar, there.Stream
		out.InSync = out.InSync && !waits
		out.Since, out.Client, out.Version, out.Agent = of.Since, of.Client, of.Version, of.Agent
		return out
	}
	return s.sidecarOf(here, waits)
}

// Here reports whether the stream of a dataplane is here.
func (s Sidecars) Here(dp api.Ref) bool {
	here, ok := s.ads.Brief(dp)
	there, elsewhere := s.there(dp)
	return ok && here.Connected && (!elsewhere || isHere(here, there))
}

func isHere(here syncstatus.Status, there peers.State) bool {
	return here.Connected && here.Since.After(there.Stream.Since)
}

func (s Sidecars) sidecarOf(st syncstatus.Status, waits bool) inspect.Sidecar {
	c := inspect.Sidecar{Dataplane: st.Dataplane, Connected: st.Connected, Published: st.Published, Acked: st.Acked,
		InSync: st.InSync && !waits, Confirmed: st.Confirmed, Rest: st.Rest, Lacks: st.Lacks, Note: st.Note, Missing: !st.Connected && !st.Until.IsZero(), Until: st.Until,
		Since: st.Since, Client: st.Client, Version: st.Version, Agent: st.Agent}
	for _, u := range st.Unconfirmed {
		c.Unconfirmed = append(c.Unconfirmed, inspect.Unconfirmed(u))
	}
	if st.Nack != nil && st.Nack.Current {
		c.Refusal = &inspect.Refusal{Type: st.Nack.Type, Resources: st.Nack.Resources, Message: st.Nack.Message}
		if c.Acked == 0 { // on this stream
			c.Acked = s.lastGood.of(st.Dataplane)
		}
	}
	return c
}

// Stream is the state of one sidecar.
func (s Sidecars) Stream(dp api.Ref) (sidecars.Stream, bool) {
	st, ok := s.ads.Status(dp)
	if there, elsewhere := s.there(dp); elsewhere && !isHere(st, there) {
		return there.Stream, true
	}
	if !ok {
		return sidecars.Stream{}, false
	}
	out := sidecars.Stream{Connected: st.Connected, Since: st.Since, Until: st.Until, Protocol: st.Protocol, Client: st.Client, Version: st.Version, Agent: st.Agent, Note: st.Note, Types: map[string]sidecars.Counters{}}
	for name, t := range st.Types {
		out.Types[name] = sidecars.Counters{Sent: t.Sent, Acked: t.Acked, Nacked: t.Nacked}
	}
	return out, true
}
