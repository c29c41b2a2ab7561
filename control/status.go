package control

import (
	"context"
	"errors"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/control/stores"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/control/uninjected"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/server"
)

// measure registers what is counted when somebody asks for metrics.
func (p *Plane) measure() {
	p.observe.Sidecars(func() map[string]int { return countSidecars(p.ads) })
	p.observe.Tables(func() int { held, _ := p.ads.Tables(); return held }, func() int { _, distinct := p.ads.Tables(); return distinct })
	p.observe.Objects(func() map[string]int { return countObjects(p.settings.Catalog(), p.store.Snapshot()) })
	p.observe.Traffic(p.traffic.Size)
	p.observe.Healthy(func() bool { return p.store.Health() == nil })
	if p.roots != nil {
		p.observe.Authority(func() bool { return p.authorityFault() == nil })
	}
	if p.peers != nil {
		p.observe.Peers(func() map[string]int {
			answering, silent := p.peers.Count()
			return map[string]int{"answering": answering, "silent": silent}
		})
	}
}

// countSidecars are the connected ones by their state, the worst that fits.
func countSidecars(ads *server.Server) map[string]int {
	out := map[string]int{"in_sync": 0, "behind": 0, "refusing": 0, "held": 0}
	for s := range ads.Peers() {
		switch {
		case !s.Connected:
		case s.Note != "":
			out["held"]++
		case s.Nack != nil && s.Nack.Current:
			out["refusing"]++
		case s.InSync:
			out["in_sync"]++
		default:
			out["behind"]++
		}
	}
	return out
}

func countObjects(catalog *api.Catalog, s *snapshot.Snapshot) map[string]int {
	out := map[string]int{}
	for _, t := range catalog.Types() {
		out[t.Name] = s.CountOfKind(t.Name)
	}
	return out
}

// profiling is the address of Go's profiles.
type profiling struct {
	listener net.Listener
	server   *http.Server
}

// listenProfiles takes the address of --pprof, where it is given.
func (p *Plane) listenProfiles() error {
	if p.cfg.Pprof == "" {
		return nil
	}
	l, err := net.Listen("tcp", p.cfg.Pprof)
	if err != nil {
		return errors.Join(errors.New("--pprof "+p.cfg.Pprof+": choose another address"), err)
	}
	p.profiles = &profiling{l, telemetry.Profiles()}
	return nil
}

// serveProfiles answers there until the end of running.
func (p *Plane) serveProfiles(running *errgroup.Group) {
	if p.profiles == nil {
		return
	}
	p.log.Info("serving profiles", "address", "http://"+p.Pprof()+"/debug/pprof/")
	running.Go(func() error {
		if err := p.profiles.server.Serve(p.profiles.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// Pprof is the address of profiles; empty where there is none.
func (p *Plane) Pprof() string {
	if p.profiles == nil {
		return ""
	}
	return p.profiles.listener.Addr().String()
}

// findUninjected makes ready to find the pods that should have a sidecar and have none: every
// replica counts them and has them among its problems, the leader writes events
// (spec/kubernetes.md 4.6).
func (p *Plane) findUninjected(k *stores.Kubernetes) error {
	made, err := webhook.NewMade(k.REST, p.log)
	if err != nil {
		return err
	}
	values, err := p.cfg.Injection(p.settings.SystemNamespaces)
	if err != nil {
		return err
	}
	p.hooks, p.uninjected = made, uninjected.New(values, p.cfg.Clock())
	p.writers.Add("bare pods", func(ctx context.Context) error { return p.uninjected.Tell(ctx, k.Writer.WarnAbout, p.log) })
	p.observe.UninjectedPods(p.uninjected.Count)
	return nil
}

// followUninjected follows pods, namespaces and webhooks until ctx ends.
func (p *Plane) followUninjected(ctx context.Context, running *errgroup.Group) {
	running.Go(func() error {
		if p.backend.Synced(ctx) == nil {
			p.uninjected.Follow(ctx, p.store)
		}
		return nil
	})
	running.Go(func() error { p.hooks.Follow(ctx, p.uninjected.Hooks); return nil })
}

// reported is a control plane as those see it who write how its objects fare.
type reported struct{ *Plane }

// Model is what holds.
func (p reported) Model() *resolve.Model { return p.loop.Current() }

// Sidecars is the state of all sidecars, as the API shows it.
func (p reported) Sidecars() []inspect.Sidecar { return p.seen().Sidecars() }

// Sidecar is the state of one sidecar.
func (p reported) Sidecar(dp api.Ref) (inspect.Sidecar, bool) { return p.seen().Sidecar(dp) }

func (p reported) seen() connections.Sidecars { return p.sidecars() }

// service is the status of a service; nil while it is not resolved.
func (p reported) service(ref api.Ref) *api.ServiceReport {
	m := p.Model()
	if m == nil {
		return nil
	}
	report, ok := m.Reader(nil).ServiceReport(ref, func(dp api.Ref) bool {
		s, ok := p.Sidecar(dp)
		return ok && s.Connected
	})
	if ok {
		status.TellResolving(report, p.Resolving(ref.Mesh), m.Callers(ref.Mesh))
	}
	return report
}

// Resolving is beside how many dataplanes of a mesh its names resolve.
func (p reported) Resolving(mesh string) int { return envoys(p).Resolving(mesh) }

// Problems is what is wrong with documents.
func (p reported) Problems() []*api.Violation { return p.problems() }

// SidecarChanges counts what sidecars have done.
func (p reported) SidecarChanges() uint64 { return p.observe.SidecarChanges() }
