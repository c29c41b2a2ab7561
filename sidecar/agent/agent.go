// Package agent runs beside a workload: it gets Envoy's bootstrap from the
// control plane, starts Envoy, keeps it running, and drains it before it stops.
//
// It promises that a token travels only over a connection whose authority is
// known, or over plaintext that cannot leave the host; that Envoy never starts
// from a bootstrap whose regular expressions it would refuse later; and that an
// Envoy that dies comes back with a growing pause in between.
// It decides nothing about configuration: that is the control plane's.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sidecar/callers"
	"github.com/weftmesh/weft/sidecar/headers"
	"github.com/weftmesh/weft/sidecar/identity"
	"github.com/weftmesh/weft/sidecar/loglines"
	"github.com/weftmesh/weft/sidecar/metrics"
	"github.com/weftmesh/weft/sidecar/probes"
	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/sidecar/resolver"
	"github.com/weftmesh/weft/sidecar/traffic"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// Config is how an agent runs.
type Config struct {
	XDS string // base URL of the control plane: https://HOST:5678
	// XDSFallback is the IP address of the control plane where its name cannot be
	// resolved; empty is none. Its certificate must be for the name.
	XDSFallback string
	Mesh        string
	Name        string // of the Dataplane
	Dataplane   []byte // the Dataplane document, or empty where the control plane has it
	TokenFile   string // empty: no token
	CAFile      string // authority of the control plane
	CA          []byte // the same in PEM, where there is no file
	// StateDir keeps across restarts what the control plane sent of its authorities; nobody
	// else may write there. Empty keeps nothing.
	StateDir string
	// WorkloadAPI is the address of the SPIFFE Workload API beside the workload, such as
	// unix:///run/spire/agent.sock; empty is none.
	WorkloadAPI string
	// LogDir is where files of access logs lie.
	LogDir    string
	Envoy     string // path of the binary; empty: look for it
	AdminPort uint32 // of Envoy's administration on loopback; 0 has it listen at a socket that is the agent's alone
	// Readiness is the address of the agent's own /readyz; port 0 = any.
	Readiness string
	// DNS is the loopback address at which names of the mesh are resolved, and all others
	// as the host does; empty is off.
	DNS         string
	Concurrency int    // worker threads of Envoy; 0 = as many as there are cores
	LogLevel    string // of Envoy
	// ComponentLogLevel is that of components of Envoy: upstream:debug,router:trace.
	ComponentLogLevel string
	// Probes are those that the agent answers for the workload; port 0 is none.
	Probes probes.Set
	// PodIPs are the addresses of the pod, the first of which is probed; none is a host.
	PodIPs []netip.Addr
	// DrainTime is how long Envoy goes on answering after it was told to stop.
	DrainTime time.Duration
	// ListenerDrain is how long Envoy goes on with the connections of a listener that was changed or
	// taken away. It is no matter of how fast a sidecar ends: what is under way is cut after it. The
	// control plane keeps routes and clusters for as long.
	ListenerDrain time.Duration
	Version       string // of weft, for the control plane's records
}

// Default is the configuration of `weft sidecar` without flags.
func Default() Config {
	return Config{
		XDS:       "https://127.0.0.1:5678",
		Mesh:      "default",
		Readiness: "127.0.0.1:0",
		LogLevel:  "warning",
		LogDir:    bootstrap.LogDirectory,
		DrainTime: 30 * time.Second, ListenerDrain: 30 * time.Second,
	}
}

// Agent runs one sidecar.
type Agent struct {
	config    Config
	log       *slog.Logger
	intervals intervals
	state     state
	identity  *identity.Holder   // nil where nobody certifies the workload
	callers   *callers.AccessLog // with identity
	lines     *accesslog.Receiver
	logs      *loglines.Forwarder
	requests  requests.Log
	tap       tapSwitch
	losses    traffic.Losses        // of lines for taps
	headers   *headers.HeaderReader // that Envoy reads while somebody watches
	metrics   *metrics.Teller
}

// New makes an agent; Run starts it.
func New(config Config, log *slog.Logger) *Agent {
	return &Agent{config: config, intervals: defaultIntervals, headers: headers.New(), log: log.With("mesh", config.Mesh, "dataplane", config.Name)}
}

// Run starts Envoy and keeps it running until ctx ends, then drains and stops
// it. It returns nil after such an end, and an error where no start can work.
func (a *Agent) Run(ctx context.Context) error {
	envoy, err := FindEnvoy(a.config.Envoy)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weft-sidecar-")
	if err != nil {
		return fmt.Errorf("make a working directory: %w", err)
	}
	defer os.RemoveAll(dir)
	token := newToken(a.config.TokenFile, dir, a.log)
	source, err := newSource(a.config, token, newAuthorities(a.config, dir, a.log))
	if err != nil {
		return err
	}
	if a.config.AdminPort == 0 {
		source.admin = filepath.Join(dir, adminSocket)
	}
	listener, err := net.Listen("tcp", a.config.Readiness)
	if err != nil {
		return fmt.Errorf("listen for readiness on %s: %w", a.config.Readiness, err)
	}
	a.state.readiness.Store(new(listener.Addr().String()))

	servers := []*endpoint{{"readiness", listener, a.handler()}}
	if p := a.config.Probes; p.Port != 0 {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", p.Port))
		if err != nil {
			return fmt.Errorf("listen for probes: %w", err)
		}
		servers = append(servers, &endpoint{"probes", listener, newProber(p, a.config.PodIPs)})
	}
	names, err := resolver.Beside(a.config.DNS)
	if err != nil {
		return err
	}
	a.state.unnamed.Store(names != nil)
	all, stop := errgroup.WithContext(ctx)
	closing, closeAll := context.WithCancel(context.Background())
	if err := errors.Join(a.receive(stop, closing, all, source, dir), a.serveMetrics(stop, closing, all, source, dir)); err != nil {
		closeAll()
		return err
	}
	for _, s := range servers {
		all.Go(func() error { return s.serve(closing) })
	}
	if token != nil {
		token.look(time.Now()) // before Envoy wants it
		all.Go(func() error { token.keep(stop, a.intervals.look); return nil })
	}
	all.Go(func() error { source.keepAuthorities(stop, a.intervals.look); return nil })
	all.Go(func() error {
		t := &attachment{Agent: a, source: source}
		if names != nil {
			t.named = func(n resolver.NameTable) { names.SetNames(n); a.state.unnamed.Store(false) }
		}
		t.keep(stop)
		return nil
	})
	if names != nil {
		a.state.resolver.Store(new(names.Addresses()[0]))
		all.Go(func() error { return serveNames(closing, names) })
	}
	all.Go(func() error {
		defer closeAll()
		s := &supervisor{agent: a, envoy: envoy, source: source, dir: dir}
		return s.run(stop)
	})
	return all.Wait()
}

// endpoint is one address at which the agent itself answers.
type endpoint struct {
	name     string
	listener net.Listener
	handler  http.Handler
}

func (e *endpoint) serve(ctx context.Context) error {
	server := &http.Server{Handler: e.handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", e.name, err)
	}
	return nil
}

// bootstrapFile is where the bootstrap lies while Envoy runs.
func (s *supervisor) bootstrapFile() string { return filepath.Join(s.dir, "bootstrap.yaml") }

// adminFile is where Envoy writes the address of its administration listener.
func (s *supervisor) adminFile() string { return filepath.Join(s.dir, "admin-address") }
