package control

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store/kube"
)

// The Envoy of a sidecar and its agent may be connected to different replicas of a cluster. What
// the agent tells is known where that is, and what the Envoy has acknowledged where this is: each
// replica tells the others its part, so that all configure their sidecars by the same.

// tellPeers has peers told of a dataplane, and waits for none.
func (x *insights) tellPeers(dp api.Ref) {
	if x.plane.peers == nil {
		return
	}
	x.plane.peers.Stirred(dp)
}

// learnt says that peers have to hear of changes of sidecars whose streams are here.
func (x *insights) learnt(changes []api.Change) {
	if x.plane.peers != nil && slices.ContainsFunc(changes, func(c api.Change) bool {
		dp := c.Ref()
		dp.Kind = api.KindDataplane
		return x.plane.sidecars().here(dp)
	}) {
		x.plane.peers.Learnt()
	}
}

// secured is what peers are told of a dataplane: of its certificate by who hears its agent, or
// has made its key.
func (x *insights) secured(dp api.Ref, attached bool) (s *peers.Secured, tls bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.of[called(dp)]
	if i == nil || i.held == nil {
		return nil, false
	}
	if !attached && !i.overADS {
		return nil, i.told.TLS
	}
	h := i.held
	s = &peers.Secured{Names: h.Names, Root: h.Root, Issued: h.Issued.Unix(), Expires: h.Ends.Unix()}
	if i.connections != nil {
		s.Connections, _ = proto.Marshal(i.connections) // which was a message before
	}
	return s, i.told.TLS
}

// hears takes what a peer has told of a sidecar.
func (x *insights) hears(dp api.Ref, s *peers.Sidecar) {
	tells := s.GetSecured()
	if tells == nil && !s.GetTls() {
		return
	}
	x.mu.Lock()
	i := x.of[called(dp)]
	if i == nil {
		i = &insight{}
		x.of[called(dp)] = i
	}
	h := authorities.Held{Root: tells.GetRoot(), Names: tells.GetNames(), Issued: time.Unix(tells.GetIssued(), 0), Ends: time.Unix(tells.GetExpires(), 0)}
	if tells.GetExpires() > 0 && (i.held == nil || h.Issued.Unix() > i.held.Issued.Unix()) {
		shown := i.shown // here, which is still to be proved
		i.has(h)         // as the peer has had it proved
		i.shown = shown
	}
	if text := tells.GetConnections(); len(text) > 0 {
		var all attach.Connections
		if proto.Unmarshal(text, &all) == nil && boundedConnections(&all) {
			i.connections = &all
		}
	}
	i.seesThere = s.GetTls() && i.held != nil && x.plane.cfg.clock()().Before(i.held.Ends)
	x.mu.Unlock()
	x.stir(dp) // which finds whose it is
}

// learns has it told when what a peer has found out holds here.
func (x *insights) learns(what kube.Position) {
	x.mu.Lock()
	if x.heard == nil {
		x.heard = kube.Position{}
	}
	for name, n := range what {
		x.heard[name] = max(x.heard[name], n)
	}
	x.mu.Unlock()
	x.stir()
}
