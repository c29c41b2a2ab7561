// Package web is weft's HTTP API: Kuma's paths and shapes, and the answers of
// package inspect and package sim beside them (spec/kuma.md 5, spec/contract.md 3).
//
// It promises that every error is JSON with a status that fits, that nobody
// without the token learns anything, and that no request can take the process
// down. Its handlers are thin: what they answer is decided below.
package web

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/changes"
	"github.com/weftmesh/weft/inspect/web/documents"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/envoys"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/questions"
	"github.com/weftmesh/weft/inspect/web/requests"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/inspect/web/schemas"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/inspect/web/tokens"
	"github.com/weftmesh/weft/inspect/web/ui"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds"
)

// Config is what the API is made of.
type Config struct {
	Catalog     *api.Catalog
	Kinds       []*policies.Kind
	Documents   Documents
	History     store.History // of Documents; nil where it keeps none
	Sidecars    sidecars.Sidecars
	FleetCounts sidecars.FleetCounts   // nil: each question counts them
	Envoys      envoys.Envoys          // nil: none can be asked
	Traffic     requests.TrafficSource // nil: nothing is counted
	// Renderer is the one whose resources sidecars get; nil: one for Kinds alone.
	Renderer *xds.Renderer
	Tokens   tokens.Issuer
	// Authorities are those of workloads' certificates; nil where none are kept.
	Authorities certificates.CAAdmin
	Events      *events.Bus
	// Problems are documents that are not served as they were written.
	Problems func() []*api.Violation
	// Security is what is known of certificates and of who calls in plain text; nil where
	// nobody tells.
	Security certificates.Security
	// Unknown says what is not known now, such as the sidecars of a replica that is silent; nil
	// where all is.
	Unknown func() []api.Note
	// Running is what is wrong with what runs and no document says: notes, each with the object that it
	// is about; nil knows of nothing.
	Running func() []api.Note
	// Ready says why the control plane is not ready yet; nil when it is.
	Ready func() error
	// Writes says why the store takes no writes, while all else works; nil where it takes them.
	Writes  func() error
	Metrics http.Handler
	// TrafficMetrics are what sidecars counted of requests; nil where that is not served.
	TrafficMetrics http.Handler
	// OnReader is told of each reader of a model that a request makes, which counts
	// what the answer costs; nil tells nobody.
	OnReader func(*resolve.Reader)
	// Traced begins the span of a request of a route; what it returns is told the status of the
	// answer. Answered is told of each answer, with the route, or refused where none was looked
	// for. Nil tells nobody.
	Traced   func(r *http.Request, route string) (ctx context.Context, end func(status int))
	Answered func(route string, status int, took time.Duration)
	// Listed is told how many documents a list looked at; nil tells nobody.
	Listed func(int)
	// Admin is the token that every request needs; empty where none is needed.
	Admin string
	// Users are those of the cluster that holds the documents, instead of users of Tokens; nil
	// where there is none.
	Users rights.Users
	// Proven is told of each request whose sender may ask; nil tells nobody.
	Proven func(context.Context)
	// ProvenBy is Proven for a user who is no administrator; false where that user has too many
	// connections. Nil allows any number.
	ProvenBy func(ctx context.Context, user string) bool
	// Hosts are the values of Host that are answered beside loopback names; nil
	// answers any, for listeners that are meant to be reached from elsewhere.
	Hosts []string
	// ReadOnly says that documents come from elsewhere, so that no write succeeds.
	ReadOnly bool
	// KumaCompat makes GET / say what Kuma's clients want.
	KumaCompat bool
	// Admission is what all writes go through.
	Admission *admission.Chain
	Zone      api.Zone
	About     About
	// Public is the configuration as GET /config shows it, without secrets.
	Public any
	Log    *slog.Logger
}

// About says who answers.
type About struct {
	Hostname, Version, InstanceID string
}

// Documents is the store as the API uses it.
type Documents interface {
	objects.Documents
	changes.Store
}

// server is the API: who may ask what, and the handlers behind it.
type server struct {
	Config
	mux        *http.ServeMux
	intake     *httpapi.Intake // of administrators
	members    *httpapi.Intake // of all others
	source     *objects.Finder
	authorizer rights.UserAuthorizer
	schemas    *schemas.Handlers
}

// New is the whole API as a handler.
func New(cfg Config) http.Handler {
	cfg.Catalog = cfg.Catalog.InZone(cfg.Zone)
	if cfg.FleetCounts == nil {
		cfg.FleetCounts = sidecars.Counting(cfg.Sidecars)
	}
	cfg.Renderer = cmp.Or(cfg.Renderer, xds.NewRenderer(cfg.Kinds))
	s := newServer(cfg)
	for _, r := range s.routes() {
		s.mux.Handle(r.Pattern, s.at(r.Pattern, s.permitted(r.Pattern, s.serve(r.Checked()))))
	}
	s.mux.Handle("/", s.at("unknown", s.serve(func(_ http.ResponseWriter, r *http.Request) error { return s.notFound(r) })))
	return s.watched(s.recovered(s.sameSite(s.pages(s.authorised(s.mux)))))
}

// newServer has no paths yet.
func newServer(cfg Config) *server {
	s := &server{Config: cfg, mux: http.NewServeMux(), intake: httpapi.NewIntake(mostHeld, mostHeld), members: httpapi.NewIntake(mostHeldOfAll, mostHeldOfMember),
		authorizer: rights.UserAuthorizer{Catalog: cfg.Catalog, Log: cfg.Log}, schemas: &schemas.Handlers{Catalog: cfg.Catalog, Kinds: cfg.Kinds, ReadOnly: cfg.ReadOnly}}
	s.source = &objects.Finder{Catalog: cfg.Catalog, Documents: cfg.Documents, OnReader: cfg.OnReader, Listed: cfg.Listed, NotFound: s.notFound}
	return s
}

// routes are all paths. Where two patterns fit, the more specific one answers.
func (s *server) routes() []endpoint.Operation {
	var roots func(string) []mtls.Root
	var secured func(api.Ref) (mtls.Observed, bool)
	var resolving func(string) int
	var ask func(ctx context.Context, dp api.Ref, path string, w io.Writer) error
	if s.Authorities != nil {
		roots = s.Authorities.Roots
	}
	if s.Security != nil {
		secured = s.Security.Secured
	}
	if s.Envoys != nil {
		resolving, ask = s.Envoys.Resolving, s.Envoys.Ask
	}
	writer := changes.NewWriter(changes.DocumentWriter{Finder: s.source, Store: s.Documents, History: s.History, Admission: s.Admission, Renderer: s.Renderer, Security: s.Security, ReadOnly: s.ReadOnly, Log: s.Log})
	var all []endpoint.Operation
	for _, h := range []interface{ Endpoints() []endpoint.Operation }{
		s.schemas, writer, events.NewHandlers(s.Events),
		&tokens.Handlers{Tokens: s.Tokens, InCluster: s.Users != nil, Log: s.Log},
		&documents.Handlers{Finder: s.source, Writes: writer, Sidecars: s.Sidecars, Problems: s.Problems, Resolving: resolving},
		&sidecars.Handlers{Finder: s.source, Sidecars: s.Sidecars, FleetCounts: s.FleetCounts, Observed: secured, Roots: roots, InstanceID: s.About.InstanceID},
		&certificates.Handlers{Finder: s.source, Authorities: s.Authorities, Security: s.Security, Sidecars: s.Sidecars, Log: s.Log},
		&questions.Handlers{Finder: s.source, Sidecars: s.Sidecars, Fleet: s.FleetCounts, Ask: ask, Problems: s.Problems, Unknown: s.Unknown, Running: s.Running, Traffic: s.troubles(), Zone: s.Zone.Name},
		&requests.Handlers{Finder: s.source, Sidecars: s.Sidecars, FleetCounts: s.FleetCounts, Traffic: s.Traffic, Ask: ask, Log: s.Log, Events: s.Events, Lacks: s.authorizer.Lacks},
		&envoys.Handlers{Finder: s.source, Envoys: s.Envoys, Renderer: s.Renderer, KumaCompat: s.KumaCompat},
	} {
		all = append(all, h.Endpoints()...)
	}
	return append(all, s.serviceRoutes()...)
}

// troubles find what is wrong with requests; nil where none are counted.
func (s *server) troubles() func(context.Context, *resolve.Reader) []conditions.OwnedProblem {
	if s.Traffic == nil {
		return nil
	}
	return (&requests.TroubleFinder{Traffic: s.Traffic, Events: s.Events}).Problems
}

// pages are the GUI, which holds no data and needs no token, beside the rest of the API.
func (s *server) pages(next http.Handler) http.Handler {
	gui := s.at(guiRoute, ui.Handler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == ui.Base || strings.HasPrefix(r.URL.Path, ui.Base+"/") {
			gui.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Server is an http.Server for the API with bounds on everything that a slow
// or hostile client could stretch. An answer may take two minutes after the
// slowest request; the stream of events, which has no end, renews its time.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second, WriteTimeout: 180 * time.Second,
		IdleTimeout: 120 * time.Second, MaxHeaderBytes: 64 << 10}
}
