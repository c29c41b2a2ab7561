package control

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/config"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/stores"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/control/traffic"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/file"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/authority"
	"github.com/weftmesh/weft/xds/server/limit"
	"github.com/weftmesh/weft/xds/server/token"
)

// openStore opens the store, beneath all that is written to it and read of it.
func (p *Plane) openStore() (err error) {
	c := stores.Config{Config: p.cfg, Settings: p.settings, Name: p.cfg.ReplicaName(), Log: p.log, Fault: p.authorityFault, Came: p.receive, Left: p.dismiss,
		Led: func() {
			p.caController.Enqueue()
			p.restored.Note() // what the leader before has not written
		}}
	if p.cfg.PeerToken != "" {
		p.peers = peers.New()
		c.Moved = p.peers.Moved
	}
	if p.backend, err = stores.Open(c); err != nil {
		return err
	}
	p.store, p.own = p.backend, p.backend
	if p.roots, p.shared = p.backend.Authority, p.backend.Shared; p.shared != nil {
		p.secrets = p.shared.Secrets
		p.observe.Stale(func() float64 { return p.backend.Stale().Seconds() })
		if p.shared.Leader != nil {
			p.observe.Leads(p.leads)
		}
	}
	return nil
}

// open puts the steps of all writes around the store and reads the directory, and creates mesh default where
// there is no mesh at all.
func (p *Plane) open(ctx context.Context) error {
	if p.backend.Kubernetes != nil { // its API server asks for the steps, and the leader creates the mesh
		return p.leadCluster(p.backend.Kubernetes)
	}
	inner := storage.NewAudit(telemetry.Measured(p.backend, p.observe), p.log, &p.authors)
	if p.backend.ReadOnly() != nil { // the directory is all that users have
		p.own = p.admission.Over(inner)
		s, err := file.Open(storage.WithActor(ctx, storage.DirectoryActor), p.directory(), p.own)
		if err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		p.store = s
		return p.firstMesh(ctx)
	}
	kept, err := p.admission.Open(ctx, inner)
	if err != nil {
		return err
	}
	p.store, p.own = kept, kept
	if p.cfg.Dir != "" {
		feed, err := file.NewFeed(storage.WithActor(ctx, storage.DirectoryActor), p.directory(), p.own)
		if err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		p.feed = feed
	}
	return p.firstMesh(ctx)
}

// Rekey seals the Secrets of the store in a data directory with a new key, and says how many there
// are (`weft store rekey`). No control plane may run.
func Rekey(c Config) (int, error) { return stores.Rekey(c) }

// directory is how --dir is read.
func (p *Plane) directory() file.Config {
	return file.Config{Dir: p.cfg.Dir, Decode: p.settings.DecodeDir, Log: p.log,
		Admit: func(now *snapshot.Snapshot, writes []store.Write) ([]store.Write, []*api.Violation) {
			return p.admission.Each(admission.Directory, now, writes)
		}}
}

// newAdmission is what all that is written goes through, and what is only planned.
func (p *Plane) newAdmission() *admission.Chain {
	return p.settings.Admission(admission.Options{SkipDefaults: p.cfg.SkipDefaultPolicies, FirstMesh: p.cfg.FirstMesh(), Log: p.log, Cluster: p.backend.Kubernetes != nil, Now: p.cfg.Clock(),
		File: func(path string) ([]byte, error) { return p.caController.File(path) },
		Uses: func(now *snapshot.Snapshot, secret api.Ref) (api.Ref, bool) { return p.caController.Uses(now, secret) },
		Model: func() *resolve.Model {
			if p.loop == nil { // the directory is read before anything is resolved
				return nil
			}
			return p.loop.Current()
		}})
}

func (p *Plane) firstMesh(ctx context.Context) error {
	if p.own.Snapshot().CountOfKind(api.KindMesh) > 0 {
		return nil
	}
	_, _, err := p.own.Apply(ctx, store.Writes(store.Write{Put: p.cfg.FirstMesh()}))
	return err
}

// revoke ends what revoked tokens have opened.
func (p *Plane) revoke(ids ...string) {
	p.ads.Revoke(ids...)
	p.agents.Revoke(ids...)
}

// credentials is who may connect as what.
func (p *Plane) credentials() (authn.Authenticator, auth.Tokens, error) {
	keys, err := p.dataplaneKeys()
	if err != nil {
		return nil, auth.Tokens{}, err
	}
	userKey, err := auth.LoadSecret(p.cfg.DataDir, auth.UserKeyFile)
	if err != nil {
		return nil, auth.Tokens{}, err
	}
	all := auth.NewTokens(keys, p.isPod, userKey, p.revoke)
	switch {
	case p.cfg.DataplaneAuth == "none":
		return authn.Anyone{}, all, nil
	case p.backend.Users != nil:
		return p.backend.Users.Dataplanes(keys, p.isPod), all, nil
	}
	return keys, all, nil
}

// dataplaneKeys are in the data directory, or where replicas share them.
func (p *Plane) dataplaneKeys() (auth.DataplaneKeys, error) {
	if p.secrets == nil {
		return token.Load(p.cfg.DataDir)
	}
	p.sharedKeys = auth.NewSharedKeys(p.secrets, p.log)
	return p.sharedKeys, nil
}

// certificates is what the listener for sidecars shows, and the authority that
// they are given; both are empty for plaintext.
func (p *Plane) certificates() (*tls.Config, func() string, error) {
	always := func(text string) func() string { return func() string { return text } }
	if p.cfg.XDSPlaintext {
		return nil, always(""), nil
	}
	if p.cfg.XDSTLSCert != "" {
		chain, err := files.Read(p.cfg.XDSTLSCert, files.MostSecret)
		if err != nil {
			return nil, nil, fmt.Errorf("--xds-tls-cert: %w", err)
		}
		key, err := files.Read(p.cfg.XDSTLSKey, files.MostSecret)
		if err != nil {
			return nil, nil, fmt.Errorf("--xds-tls-key: %w", err)
		}
		pair, err := tls.X509KeyPair(chain, key)
		if err != nil {
			return nil, nil, fmt.Errorf("--xds-tls-cert: %w", err)
		}
		p.shown = pair.Leaf
		return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}}, always(string(chain)), nil
	}
	if p.roots != nil {
		return p.roots.TLS(), func() string { ca, _ := p.roots.PEM(); return string(ca) }, nil
	}
	var names []string
	if host, _, err := net.SplitHostPort(p.cfg.XDS); err == nil && host != "" {
		names = append(names, host)
	}
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	a, err := authority.Load(p.cfg.DataDir, names...)
	if err != nil {
		return nil, nil, err
	}
	return a.TLS(), always(string(a.PEM())), nil
}

func (p *Plane) webHandler(keys auth.Tokens) (http.Handler, error) {
	admin := ""
	if p.cfg.AdminAuth == "token" {
		var err error
		if admin, err = auth.LoadSecret(p.cfg.DataDir, auth.AdminTokenFile); err != nil {
			return nil, err
		}
	}
	host, _ := os.Hostname()
	c := web.Config{
		Catalog: p.settings.Catalog(), Kinds: world.Kinds(), Documents: reconcile.NewDocuments(p.store, p.loop, p.waiting), History: storage.NewHistory(p.backend.History, p.cfg.Store), Sidecars: p.sidecars(), Envoys: envoys{p}, Unknown: p.unknown, Renderer: p.settings.Renderer(), Tokens: keys,
		Security: p.insights, Proven: limit.Proven, ProvenBy: limit.ProvenBy, Events: p.observe.Events, Problems: p.problems, Running: p.running, Ready: p.ready, Writes: func() error { return p.store.Health() }, Admin: admin, ReadOnly: p.backend.ReadOnly() != nil, KumaCompat: p.cfg.KumaCompat, Zone: p.settings.InZone(), Public: p.cfg, Log: p.log,
		Traced: p.observe.Request, Answered: p.observe.Answered,
		Metrics: promhttp.HandlerFor(p.observe.Registry, promhttp.HandlerOpts{}), TrafficMetrics: p.traffic.Series(),
		About: web.About{Hostname: host, Version: p.cfg.Version, InstanceID: uuid.NewString()},
	}
	c.Authorities = p.caAdmin()
	c.FleetCounts, c.Traffic = p.fleet, p.counted()
	c.Admission = p.admission
	if p.backend.Users != nil && p.cfg.AdminAuth == "token" {
		c.Users = members{p.backend.Users}
	}
	if p.cfg.APIExpose {
		p.exposed = web.New(c)
	}
	if home, err := config.IsLoopback(p.cfg.API); err == nil && home {
		c.Hosts = []string{} // loopback names only
	}
	return web.New(c), nil
}

// counted is what sidecars counted of requests, here and at peers.
func (p *Plane) counted() traffic.ReplicaSums {
	all := traffic.ReplicaSums{Own: p.traffic}
	if p.peers != nil {
		all.Peers = p.peers.Sums
	}
	return all
}

// problems are all documents that are not served as they were written, and pods without the
// sidecar that they should have.
func (p *Plane) problems() []*api.Violation {
	all := p.store.Problems()
	if p.feed != nil {
		all = append(all, p.feed.Problems()...)
	}
	if p.uninjected != nil {
		all = append(all, p.uninjected.Problems()...)
	}
	all = append(all, p.caController.Problems()...)
	return append(all, p.tokenUse.Problems()...)
}

// trace sends traces to the collector that the configuration or the environment names.
func (p *Plane) trace(ctx context.Context) (telemetry.Tracing, error) {
	home, err := config.IsLoopback(p.cfg.OTLPEndpoint)
	return telemetry.Trace(ctx, p.cfg.OTLPEndpoint, err == nil && home, p.cfg.Version)
}
