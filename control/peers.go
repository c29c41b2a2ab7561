package control

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
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

// findPeers keeps it known which peers there are, by the EndpointSlices of their Service,
// until ctx ends or the store is closed.
func (p *Plane) findPeers(ctx context.Context) {
	if p.cluster.Synced(ctx) != nil {
		return
	}
	now, watch := p.store.Watch()
	defer watch.Stop()
	slices := map[api.Ref]*api.Object{}
	for o := range now.OfKind(api.KindEndpointSlice) {
		if p.ofPeers(o) {
			slices[o.Ref] = o
		}
	}
	p.peers.Find(ctx, peersIn(slices))
	for {
		_, changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		found := false
		for _, c := range changes {
			ref := c.Ref()
			if ref.Kind != api.KindEndpointSlice {
				continue
			}
			if c.After != nil && p.ofPeers(c.After) {
				slices[ref], found = c.After, true
			} else if slices[ref] != nil {
				delete(slices, ref)
				found = true
			}
		}
		if found {
			p.peers.Find(ctx, peersIn(slices))
		}
	}
}

func (p *Plane) ofPeers(o *api.Object) bool {
	return o.Namespace == p.cfg.Namespace && o.Labels[api.LabelServiceName] == PeersService
}

// peersIn are the replicas that slices name, in order, at the port for sidecars: of a pod with
// addresses of two families there are two slices.
func peersIn(all map[api.Ref]*api.Object) (out []peers.Peer) {
	for _, o := range all {
		s, ok := o.Spec.(*api.EndpointSlice)
		if !ok || s.AddressType == "FQDN" {
			continue
		}
		port := uint32(0)
		for i := range s.Ports {
			if s.Ports[i].Name == peersPort {
				port = s.Ports[i].Port
			}
		}
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			if port == 0 || len(e.Addresses) == 0 {
				continue
			}
			serves := e.IsReady() // of a Service that names replicas before they are ready, all are
			if e.Conditions != nil && e.Conditions.Serving != nil {
				serves = *e.Conditions.Serving
			}
			found := peers.Peer{Address: net.JoinHostPort(e.Addresses[0], strconv.FormatUint(uint64(port), 10)), Ready: serves, Stopping: e.Terminates()}
			if e.TargetRef != nil {
				found.Name = e.TargetRef.Name
			}
			out = append(out, found)
		}
	}
	slices.SortFunc(out, func(a, b peers.Peer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return slices.CompactFunc(out, func(a, b peers.Peer) bool { return a.Address == b.Address })
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
