package control

import (
	"errors"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/xds/server"
)

// measure registers what is counted when somebody asks for metrics.
func (p *Plane) measure() {
	p.observe.Sidecars(func() map[string]int { return countSidecars(p.ads) })
	p.observe.Tables(func() int { held, _ := p.ads.Tables(); return held }, func() int { _, distinct := p.ads.Tables(); return distinct })
	p.observe.Objects(func() map[string]int { return countObjects(p.settings.Catalog(), p.store.Snapshot()) })
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
