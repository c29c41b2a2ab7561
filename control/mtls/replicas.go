package mtls

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
)

// The Envoy of a sidecar and its agent may be connected to different replicas of a cluster. What
// the agent tells is known where that is, and what the Envoy has acknowledged where this is: each
// replica tells the others its part, so that all configure their sidecars by the same.

// tellPeers has peers told of a dataplane, and waits for none.
func (x *Insights) tellPeers(dp api.Ref) {
	if x.Peers == nil {
		return
	}
	x.Peers.SidecarChanged(dp)
}

// learnt says that peers have to hear of changes of sidecars whose streams are here.
func (x *Insights) learnt(changes []snapshot.Change) {
	if x.Peers != nil && slices.ContainsFunc(changes, func(c snapshot.Change) bool {
		dp := c.Ref()
		dp.Kind = api.KindDataplane
		return x.Sidecars.Here(dp)
	}) {
		x.Peers.Learnt()
	}
}

// PeerState is what peers are told of a dataplane: of its certificate by who hears its agent, or
// has made its key.
func (x *Insights) PeerState(dp api.Ref, attached bool) (s *peers.Secured, tls bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.insight(dp.AsNode())
	if i == nil || i.held == (heldCert{}) {
		return nil, false
	}
	if !attached && !i.overADS {
		return nil, i.told.TLS
	}
	h := i.held.held()
	s = &peers.Secured{Names: h.Names, Root: h.Root, Issued: h.Issued.Unix(), Expires: h.Ends.Unix()}
	if i.connections != nil {
		s.Connections, _ = proto.Marshal(i.connections) // which was a message before
	}
	return s, i.told.TLS
}

// HearPeer takes what a peer has told of a sidecar.
func (x *Insights) HearPeer(dp api.Ref, s *peers.Sidecar) {
	tells := s.GetSecured()
	_, attached := x.Agents.Stream(dp) // not under mu
	x.mu.Lock()
	if x.insight(dp.AsNode()) == nil && tells == nil && !s.GetTls() {
		x.mu.Unlock()
		return
	}
	i := x.entry(dp.AsNode())
	changed := false
	if tells.GetExpires() > 0 {
		changed = i.takes(newHeldCert(authorities.ProvenCertificate{Root: tells.GetRoot(), Names: tells.GetNames(), Issued: time.Unix(tells.GetIssued(), 0), Ends: time.Unix(tells.GetExpires(), 0)}), attached)
	}
	if text := tells.GetConnections(); len(text) > 0 {
		var all attach.Connections
		if proto.Unmarshal(text, &all) == nil && boundedConnections(&all) {
			i.connections = &all
		}
	}
	if s.GetStream() != nil && i.seesThere != s.GetTls() { // who has no stream of ADS knows nothing of it
		i.seesThere, changed = s.GetTls(), true
	}
	x.mu.Unlock()
	if changed {
		x.Enqueue(dp) // which finds whose it is
	}
}

// recall takes what peers have told of dataplanes before this replica knew of them.
func (x *Insights) recall(of map[api.Ref]bool) {
	m := x.Loop.Current()
	if x.Peers == nil || m == nil {
		return
	}
	for dp := range of {
		x.mu.Lock()
		known := x.insight(dp) != nil
		x.mu.Unlock()
		ref := dp.Resolve(reconcile.Serves(m))
		if id, there := m.Identity(ref); known || !there || id == nil {
			continue
		}
		for _, s := range x.Peers.Of(ref) {
			x.HearPeer(ref, s)
		}
	}
}

// takes takes note of a certificate that a peer tells of, as that has had it proved; false where it
// goes on with its own.
func (i *insight) takes(h heldCert, attached bool) bool {
	if !i.yields(h, attached) {
		return false
	}
	shown := i.now().shown // here, which is still to be proved
	i.has(h)
	i.change(func(p *passing) { p.shown = shown })
	return true
}

// yields reports whether the certificate that is known is not the one any more that a peer tells of.
// That replica knows best which hears the agent, whatever clocks say, and also where a root was
// replaced within the second in which the last one signed. Who hears it himself waits for what he is
// shown, but for a later one: the agent may just have moved.
func (i *insight) yields(to heldCert, attached bool) bool {
	switch is := i.held; {
	case is == (heldCert{}):
		return true
	case attached:
		return to.issued > is.issued
	default:
		return is.other(to) || is.names() != to.names()
	}
}

// PeerLearned has it told when what a peer has found out holds here.
func (x *Insights) PeerLearned(what store.Position) {
	x.mu.Lock()
	if x.observed == nil {
		x.observed = store.Position{}
	}
	for name, n := range what {
		x.observed[name] = max(x.observed[name], n)
	}
	x.mu.Unlock()
	x.Enqueue()
}
