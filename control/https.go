package control

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/xds/server/limit"
)

// httpsServer is one address of HTTPS with the certificate of the cluster's authority.
type httpsServer struct {
	flag     string
	listener net.Listener
	server   *http.Server
}

// listenHTTPS takes the addresses of a cluster that the configuration names.
func (p *Plane) listenHTTPS(limits limit.Limits) error {
	for _, f := range []struct{ flag, address string }{{"--webhooks", p.cfg.Webhooks}, {"--api-tls", p.cfg.APITLS}} {
		if f.address == "" {
			continue
		}
		l, err := p.listen(f.flag, f.address, limits)
		if err != nil {
			return err
		}
		p.https = append(p.https, &httpsServer{flag: f.flag, listener: l})
	}
	return nil
}

// answerHTTPS gives an address its handler.
func (p *Plane) answerHTTPS(flag string, by func() (http.Handler, error)) error {
	for _, f := range p.https {
		if f.flag == flag {
			h, err := by()
			if err != nil {
				return err
			}
			f.server = web.Server(h)
			f.server.ErrorLog = slog.NewLogLogger(p.log.Handler(), slog.LevelWarn)
		}
	}
	return nil
}

// serveHTTPS answers at all of them until they are shut down.
func (p *Plane) serveHTTPS(running *errgroup.Group) {
	for _, f := range p.https {
		running.Go(func() error {
			if err := f.server.Serve(tls.NewListener(f.listener, p.shows(f.flag))); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", f.flag, err)
			}
			return nil
		})
	}
}

// shows is what an address shows. Kubelets ask whether the process lives before it knows the
// authority of the cluster, and trust whatever they are shown.
func (p *Plane) shows(flag string) *tls.Config {
	if flag == "--api-tls" {
		return p.roots.TLSEarly()
	}
	return p.roots.TLS()
}

// shutdownHTTPS ends them when the running requests are answered, or ctx is over.
func (p *Plane) shutdownHTTPS(ctx context.Context) {
	for _, f := range p.https {
		if err := f.server.Shutdown(ctx); err != nil {
			p.log.Warn("requests were cut off", "listener", f.flag, "error", err)
			_ = f.server.Close()
		}
	}
}

// at is the address of a flag; empty where there is none.
func (p *Plane) at(flag string) string {
	for _, f := range p.https {
		if f.flag == flag {
			return f.listener.Addr().String()
		}
	}
	return ""
}

// APITLS is the address for kubelets and those who collect metrics.
func (p *Plane) APITLS() string { return p.at("--api-tls") }

// Webhooks is the address for the API server.
func (p *Plane) Webhooks() string { return p.at("--webhooks") }
