package control

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/resolve"
)

// PeersService is the headless Service of the replicas of a control plane (spec/kubernetes.md
// 6.4), and peersPort is how its port is called.
const (
	PeersService = webhook.ServiceName + "-peers"
	peersPort    = "grpc-xds"
)

// joinPeers makes this replica one of its peers, if it has a token for them.
func (p *Plane) joinPeers() {
	if p.peers == nil {
		return
	}
	p.peers.Begin(peers.Config{
		Name: p.name, ADS: p.ads, Agents: p.agents, Events: p.observe.Events,
		Known: func(ref api.Ref) api.Ref {
			if m := p.loop.Current(); m != nil {
				return ref.Resolve(reconcile.Serves(m))
			}
			return ref
		},
		Settled: p.census.MarkAll,
		Changed: func() {
			p.observe.StirredSomewhere()
			p.census.MarkAll()
		},
		Authenticator: connections.NoteProven(identity.NewPeers(p.reviewer, p.cfg.Namespace, webhook.ServiceName)),
		TLS: func() *tls.Config {
			ca, _ := p.roots.PEM()
			return peers.TLSOf(webhook.ServiceName+"."+p.cfg.Namespace+".svc", ca)
		},
		Token: func() (string, error) {
			text, err := files.Read(p.cfg.PeerToken, files.MostSecret)
			return strings.TrimSpace(string(text)), err
		},
		Dial: p.cfg.DialPeer, Secured: p.insights.PeerState, Told: p.insights.HearPeer, Learns: p.insights.PeerLearned, Do: p.signers().LeaderRequest,
		Log: p.log,
	})
}

// tellPeers says what holds now.
func (p *Plane) tellPeers(m *resolve.Model, affected resolve.Affected) {
	if p.peers != nil {
		p.peers.Published(m, m.Snapshot().Revision(), affected.Dataplanes)
		p.census.MarkAll() // whose sidecars follow elsewhere may be said of others too
	}
}

// findPeers keeps it known which peers there are until ctx ends or the store is closed.
func (p *Plane) findPeers(ctx context.Context) {
	if p.cluster.Synced(ctx) == nil {
		p.peers.FindIn(ctx, p.store, peers.Service{Namespace: p.cfg.Namespace, Name: PeersService, Port: peersPort})
	}
}

// unknown says what is not known now: documents of an API server that is away, and sidecars
// of replicas that do not answer.
func (p *Plane) unknown() (notes []api.Note) {
	if p.cluster != nil {
		if stale := p.cluster.Stale().Truncate(time.Second); stale > 0 {
			notes = append(notes, api.Note{Severity: api.Warning, Code: "StaleDocuments",
				Message: fmt.Sprintf("the Kubernetes API server has not been followed for %v; documents are as they were then", stale)})
		}
	}
	if p.peers != nil {
		notes = append(append(notes, p.peers.Silent()...), p.peers.Differing()...)
	}
	return append(notes, p.degraded()...)
}
