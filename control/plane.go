package control

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/bootstrap"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/hostnames"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/leader"
	"github.com/weftmesh/weft/control/mtls"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/process"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/stores"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/control/traffic"
	"github.com/weftmesh/weft/control/uninjected"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/file"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/limit"
	"github.com/weftmesh/weft/xds/server/port"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Plane is one control plane: its store, its loop and its two listeners.
type Plane struct {
	cfg              Config
	settings         world.Settings
	log              *slog.Logger
	store            store.Store         // what users write to; may be read-only
	admission        *admission.Chain    // that all writes go through
	own              store.Store         // what the control plane itself writes to
	backend          *stores.Backend     // beneath both
	feed             *file.Feed          // of --dir beside another store
	shared           *store.Coordination // of the backend; nil where there are no other replicas
	peers            *peers.Replica      // with --peer-token: the other replicas
	writers          *leader.Writers
	roots            roots.Authority     // of the backend; nil where the authority of replicas is not needed
	secrets          store.SharedSecrets // what the replicas share; with roots
	sharedKeys       *auth.SharedKeys    // with roots
	https            []*httpsServer
	exposed          http.Handler        // the API where --api-tls has all of it
	uninjected       *uninjected.Tracker // of a cluster whose pods this control plane injects
	hooks            *webhook.Made       // with uninjected
	authors          storage.Authors
	observe          *telemetry.Observer
	lastGood         *connections.LastGood
	fleet            *connections.FleetCounts
	loop             *reconcile.Loop
	ads              *server.Server
	agents           *attached.Server
	lists            hostnames.Lists // of what is current, for agents
	traffic          *traffic.TrafficCollector
	ephemerals       *connections.Ephemerals
	returning        *connections.Reconnects
	caController     *authorities.CAController
	tokenUse         *connections.TokenUse
	refused          *connections.Refusals
	restored         *issuer.RestoredStore
	shown            *x509.Certificate // of --xds-tls-cert
	mtls             *mtls.Parts
	issued           *mtls.IssuedCertificates
	revocations      *issuer.Revocations
	insights         *mtls.Insights
	controlPlaneKeys *issuer.ControlPlaneKeys
	api              net.Listener
	xds              net.Listener
	apiSrv           *http.Server
	xdsPort          *port.Mux
	watch            store.Watch
	tracing          func(context.Context) error
	profiles         *profiling // with --pprof
	serving          atomic.Bool
	resolved         atomic.Bool
	began            chan struct{} // closed when resolved
}

// Run is a control plane from start to the end of ctx, as the main work of its
// process, of which it keeps the memory small.
func Run(ctx context.Context, cfg Config, log *slog.Logger) error {
	process.ReturnFreeMemory(ctx)
	p, err := New(ctx, cfg, log)
	if err != nil {
		return err
	}
	return p.Serve(ctx)
}

// New opens the store and the listeners, and reads and resolves everything, so
// that what it returns can serve at once; but what comes from elsewhere, as that of a
// cluster, is read while it serves. Serve must follow.
func New(ctx context.Context, cfg Config, log *slog.Logger) (*Plane, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	settings, err := cfg.Settings()
	if err != nil {
		return nil, err
	}
	p := &Plane{cfg: cfg, settings: settings, log: telemetry.Logs(log), began: make(chan struct{})}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

// prepare does all that can fail.
func (p *Plane) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(p.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	// The addresses first: who cannot have them should not wait for a store.
	descriptors := process.RaiseDescriptors()
	forAPI, forXDS := connections.Budgets(descriptors)
	if p.api, err = p.listen("--api", p.cfg.API, forAPI); err != nil {
		return err
	}
	if p.xds, err = p.listen("--xds", p.cfg.XDS, forXDS); err != nil {
		return err
	}
	if err := errors.Join(p.listenHTTPS(forAPI), p.listenProfiles()); err != nil {
		return err
	}
	p.log.Info("limits", "descriptors", descriptors, "api", forAPI.Connections, "xds", forXDS.Connections, "unproven", forXDS.Pending)
	tracing, err := p.trace(ctx)
	if err != nil {
		return err
	}
	p.tracing = tracing.Stop
	p.observe = telemetry.NewObserver(telemetry.New(p.cfg.Version), tracing, events.NewBus(), &p.authors)
	p.writers = leader.NewWriters(p.log)
	if err := p.openStore(); err != nil {
		return err
	}
	p.admission = p.newAdmission()
	p.mtls = &mtls.Parts{DataDir: p.cfg.DataDir, Shared: p.shared != nil, HoldPlain: p.cfg.HoldPlain, Zone: p.settings.InZone(), Now: p.cfg.Clock(), Log: p.log, Serving: p.serving.Load, NoProof: p.noProof, Certify: p.certifyNow}
	p.issued = mtls.NewIssuedCertificates(p.mtls)
	p.caController = p.newCAController() // what is read of --dir is admitted by what authorities need
	if err := p.open(ctx); err != nil {
		return err
	}
	p.insights = mtls.NewInsights(p.mtls)
	p.restored, p.revocations = p.newRevocations()
	p.mtls.Own, p.mtls.Keeper, p.mtls.Peers, p.mtls.Showed = p.own, p.caController, p.peers, p.restored.Showed
	if err := p.compose(); err != nil {
		return err
	}
	if p.peers == nil && p.backend.Waiting() == nil {
		p.begin()
	}
	return nil
}

// begin resolves and publishes all that the store holds.
func (p *Plane) begin() {
	snapshot, watch := p.store.Watch()
	p.watch = watch
	p.loop.Begin(p.settings.Empty(), snapshot, p.insights.Restore)
	p.resolved.Store(true)
	close(p.began)
}

func (p *Plane) listen(flag, address string, limits limit.Limits) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; choose another address", flag, address, err)
	}
	return limit.Listen(l, flag, limits, p.log), nil
}

// API is the address of the HTTP API.
func (p *Plane) API() string { return p.api.Addr().String() }

// XDS is the address for sidecars.
func (p *Plane) XDS() string { return p.xds.Addr().String() }

// compose puts together all that does not depend on documents.
func (p *Plane) compose() error {
	inner, keys, err := p.credentials()
	if err != nil {
		return err
	}
	p.tokenUse = connections.NewTokenUse(p.log)
	p.refused = connections.NewRefusals(p.isDataplane, p.isConnected)
	auth := connections.NoteProven(p.tokenUse.Watch(p.revocations.Refuse(inner)))
	p.composeStreams(auth)
	p.composeFollowers()
	p.mtls.Loop, p.mtls.Sidecars, p.mtls.Reconnects, p.mtls.Agents = p.loop, p.sidecars(), p.returning, p.agents
	p.fleet = connections.NewFleetCounts(p.loop, p.sidecars(), p.insights.Root)
	p.loop.Marks, p.mtls.Mark = p.fleet, p.fleet.Mark
	p.joinPeers()
	p.measure()
	handler, err := p.webHandler(keys)
	if err != nil {
		return err
	}
	p.apiSrv = web.Server(p.onceRead(handler))
	if err := errors.Join(p.answerHTTPS("--webhooks", p.admits), p.answerHTTPS("--api-tls", p.watched)); err != nil {
		return err
	}
	return p.composeXDSPort(auth)
}

// composeFollowers makes what follows the streams of sidecars.
func (p *Plane) composeFollowers() {
	connected := func(ref api.Ref) bool {
		s, ok := p.ads.Status(ref)
		return ok && s.Connected
	}
	p.ephemerals = connections.NewEphemerals(p.own, connected, p.cfg.DeregisterAfter, p.log)
	p.returning = connections.NewReconnects(p.cfg.DataDir, time.Now(), p.log, p.secures)
	p.lastGood = connections.NewLastGood(p.cfg.DataDir, p.backend.Durable(), p.log)
	p.observe.Hooks.Nacked, p.observe.Hooks.Synced = p.lastGood.Refused, p.lastGood.Synced
	p.observe.Hooks.Joined = func(peer syncstatus.Peer) {
		p.ephemerals.Joined(peer.Dataplane)
		p.returning.Joined(peer.Dataplane)
		p.refused.Joined(peer.Dataplane)
		p.controlPlaneKeys.Joined(peer)
	}
	p.observe.Hooks.Left = func(peer syncstatus.Peer) {
		p.ephemerals.Left(peer.Dataplane)
		p.returning.Left(peer.Dataplane)
		p.controlPlaneKeys.Left(peer)
	}
}

// composeXDSPort makes the port for sidecars: their streams, and what their agents ask by HTTP.
func (p *Plane) composeXDSPort(auth authn.Authenticator) error {
	tls, ca, err := p.certificates()
	if err != nil {
		return err
	}
	boot := &bootstrap.Handler{Catalog: p.settings.Catalog(), Into: p.own, Admission: p.admission, Model: reconcile.NewDocuments(p.store, p.loop, p.waiting).Model, Authenticator: auth, CA: ca, Arrived: p.ephemerals.Arrived, Log: p.log}
	boot.Skewed, boot.Refused = p.insights.Skewed, p.refused.Note
	certifier := p.certifier(auth)
	p.controlPlaneKeys = issuer.NewControlPlaneKeys(certifier, p.ads, p.insights, p.cfg.Clock())
	p.mtls.Expire = p.controlPlaneKeys.Expire
	mux := http.NewServeMux()
	mux.Handle("POST /bootstrap", bootstrap.Bounded(boot))
	mux.Handle("POST /certify", bootstrap.Bounded(certifier))
	p.xdsPort = port.New(port.Options{Logger: p.log, TLS: tls, HTTP: mux,
		Register: func(g grpc.ServiceRegistrar) {
			p.ads.Register(g)
			p.agents.Register(g)
			if p.peers != nil {
				p.peers.Register(g)
			}
		}})
	return nil
}

// isDataplane reports whether there is a dataplane that its sidecar calls so, and isConnected whether its
// sidecar is here or with a peer.
func (p *Plane) isDataplane(name api.Ref) bool {
	_, ok := p.dataplane(name)
	return ok
}

func (p *Plane) isConnected(name api.Ref) bool {
	m := p.loop.Current()
	if m == nil {
		return false
	}
	s, ok := p.sidecars().Sidecar(name.Resolve(reconcile.Serves(m)))
	return ok && s.Connected
}

// ready says what is missing until the control plane serves. A store that takes no writes does not keep it
// from that: sidecars must not lose their control plane by a full disk.
func (p *Plane) ready() error {
	if err := p.waiting(); err != nil {
		return err
	}
	switch {
	case !p.resolved.Load():
		return errors.New("the documents are not resolved yet")
	case !p.serving.Load():
		return errors.New("the control plane is starting or stopping")
	}
	if _, ok := p.ads.Revision(); !ok {
		return errors.New("nothing has been published yet")
	}
	return nil
}
