package mtls

import (
	"context"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Where all replicas of a cluster began anew, nobody knows which sidecars have certificates, and it
// is written nowhere: agents tell. An Envoy that came back before its agent would be configured like
// that of a workload without one, which calls in plain text. So it goes on with what it has until its
// agent is heard.
const (
	// awaitsAgent is for how long after the begin: the longest pause of an agent between two attempts,
	// and some.
	awaitsAgent = 40 * time.Second
	// showsWithin is how long an agent with a stream takes to show what it has, if anything.
	showsWithin = 500 * time.Millisecond
	// looksForAgent is between two looks.
	looksForAgent = 50 * time.Millisecond
)

// AwaitAgent keeps the stream of an Envoy that is not to be configured yet.
func (x *Insights) AwaitAgent(ctx context.Context, p syncstatus.Peer) {
	now := x.Now
	m := x.Loop.Current()
	if p.Proof != nil || syncstatus.IsGRPC(p.Client) || m == nil || !x.Keeper.Before(p.Dataplane.Mesh).After(now()) {
		return // it has no agent, or no certificate
	}
	if id, ok := m.Identity(p.Dataplane); !ok || id == nil || len(id.Names) == 0 {
		return
	}
	end := time.Unix(0, x.began.Load()).Add(awaitsAgent)
	var attached time.Time
	for said := false; time.Now().Before(end) && x.Serving() && x.silent(p.Dataplane, &attached); said = true {
		if !said {
			x.Log.Info("an Envoy waits for its agent, which knows whether it has a certificate", "dataplane", p.Dataplane.String(), "until", end)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(looksForAgent):
		}
	}
}

// silent reports whether nobody has heard of the certificate of a dataplane who may yet hear of it;
// attached is since when its agent has a stream.
func (x *Insights) silent(dp api.Ref, attached *time.Time) bool {
	x.mu.Lock()
	i := x.insight(dp.AsNode())
	known, proving := i != nil && i.held != (heldCert{}), i != nil && i.now().shown != nil && i.now().doubt == ""
	x.mu.Unlock()
	switch {
	case known || proving:
		return !known
	case !x.hasAgent(dp):
		*attached = time.Time{}
	case attached.IsZero():
		*attached = time.Now()
	default:
		return time.Since(*attached) < showsWithin
	}
	return true
}

// hasAgent reports whether the agent of a dataplane has a stream, here or at a peer.
func (x *Insights) hasAgent(dp api.Ref) bool {
	if _, here := x.Agents.Stream(dp); here {
		return true
	}
	if x.Peers != nil {
		for _, s := range x.Peers.Of(dp) {
			if s.GetAttached() {
				return true
			}
		}
	}
	return false
}
