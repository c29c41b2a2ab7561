package control

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/control/stores"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/xds/server/limit"
)

// httpsServer is one address of HTTPS with the certificate of the cluster's authority.
type httpsServer struct {
	flag     string
	listener net.Listener
	server   *http.Server
	clients  *x509.CertPool // who has signed the certificates that clients must show; nil asks for none
}

// mostHookConnections is how many connections one address has at --webhooks: API servers
// speak HTTP/2, over a few of them.
const mostHookConnections = 64

// listenHTTPS takes the addresses of a cluster that the configuration names.
func (p *Plane) listenHTTPS(limits limit.Limits) error {
	forHooks := limits
	forHooks.PerAddress, forHooks.Grace = mostHookConnections, time.Second
	if p.cfg.WebhooksClientCA == "" {
		forHooks.Deadline = 0 // API servers show nothing that would prove who they are, and keep their connections
	}
	for _, f := range []struct {
		flag, address string
		limits        limit.Limits
	}{{"--webhooks", p.cfg.Webhooks, forHooks}, {"--api-tls", p.cfg.APITLS, limits}} {
		if f.address == "" {
			continue
		}
		l, err := p.listen(f.flag, f.address, f.limits)
		if err != nil {
			return err
		}
		p.https = append(p.https, &httpsServer{flag: f.flag, listener: l})
		if f.flag == "--webhooks" && p.cfg.WebhooksClientCA != "" {
			if p.https[len(p.https)-1].clients, err = readPool("--webhooks-client-ca", p.cfg.WebhooksClientCA); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPool reads authorities from a file.
func readPool(flag, file string) (*x509.CertPool, error) {
	text, err := files.Read(file, files.MostSecret)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM; write that of the authority of the API servers' certificates", flag, file)
	}
	return pool, nil
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
			f.server.ErrorLog = log.New(&seldom{log: p.log, listener: f.flag}, "", 0)
		}
	}
	return nil
}

// serveHTTPS answers at all of them until they are shut down.
func (p *Plane) serveHTTPS(running *errgroup.Group) {
	for _, f := range p.https {
		shown := p.shows(f.flag)
		if f.clients != nil {
			shown.ClientAuth, shown.ClientCAs = tls.RequireAndVerifyClientCert, f.clients
		}
		running.Go(func() error {
			if err := f.server.Serve(tls.NewListener(f.listener, shown)); !errors.Is(err, http.ErrServerClosed) {
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

// betweenComplaints is the least time between two lines of the log about bad connections.
const betweenComplaints = 10 * time.Second

// seldom logs what a server says of bad connections, such as handshakes that fail: now and
// then, since anybody can make it say that.
type seldom struct {
	log      *slog.Logger
	listener string

	mu      sync.Mutex
	last    time.Time
	skipped int
}

// Write takes one line.
func (s *seldom) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.last) >= betweenComplaints {
		s.log.Warn("a connection failed", "listener", s.listener, "error", strings.TrimSpace(string(line)), "before", s.skipped)
		s.last, s.skipped = now, 0
	} else {
		s.skipped++
	}
	return len(line), nil
}

// watched is what --api-tls answers: whether the process lives and is ready, for kubelets, to
// everybody, and the metrics to those who may read them (spec/kubernetes.md 6.8).
func (p *Plane) watched() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := p.ready(); err != nil {
			httpapi.Refuse(w, p.notReady(r, err))
			return
		}
		switch err := p.store.Health(); {
		case err == nil:
			_, _ = w.Write([]byte("ok\n"))
		case r.URL.Query().Get("for") == "writes":
			httpapi.Refuse(w, p.notReady(r, err))
		default: // why is for those who ask for problems
			_, _ = w.Write([]byte("degraded: the store takes no writes\n"))
		}
	})
	for path, answer := range map[string]http.Handler{"/metrics": promhttp.HandlerFor(p.observe.Registry, promhttp.HandlerOpts{}), "/metrics/traffic": p.traffic.Series()} {
		if answer != nil {
			mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
				if err := p.mayRead(r); err != nil {
					httpapi.Refuse(w, err)
					return
				}
				limit.Proven(r.Context())
				answer.ServeHTTP(w, r)
			})
		}
	}
	if p.cfg.APIExpose {
		mux.Handle("/", p.onceRead(p.exposed))
	}
	return mux, nil
}

// members are the users of the cluster, as it says who they are and what they may.
type members struct{ users stores.Users }

// WhoIs is whose token it is.
func (m members) WhoIs(ctx context.Context, token string) (rights.ClusterUser, error) {
	who, err := m.users.WhoIs(ctx, token, false)
	if errors.Is(err, identity.ErrNobody) {
		err = fmt.Errorf("%w: %w", rights.ErrNobody, err)
	}
	return who, err
}

// notReady is the answer to who asks whether the control plane is ready while it is not. Why
// is for those who may get the path by the rules of the cluster: it names what the cluster has, and addresses.
func (p *Plane) notReady(r *http.Request, why error) error {
	detail := "the control plane is not ready; its log says why, and so does this path with a token that may get it"
	if r.Header.Get("Authorization") != "" && p.mayRead(r) == nil {
		detail = why.Error()
	}
	return httpapi.Refusal(http.StatusServiceUnavailable, detail)
}

// mayRead refuses who may not get a path by the rules of the cluster. Those who collect metrics
// have the ordinary token of their account.
func (p *Plane) mayRead(r *http.Request) error {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		token = ""
	}
	who, err := p.backend.Users.WhoIs(r.Context(), strings.TrimSpace(token), true)
	switch {
	case errors.Is(err, identity.ErrNobody):
		return httpapi.Refusal(http.StatusUnauthorized, err.Error())
	case err != nil:
		return httpapi.Refusal(http.StatusServiceUnavailable, err.Error())
	}
	access := rights.AccessRequest{Verb: "get", Path: r.URL.Path}
	may, err := who.May(r.Context(), access)
	switch {
	case err != nil:
		return httpapi.Refusal(http.StatusServiceUnavailable, err.Error())
	case !may:
		return httpapi.Refusal(http.StatusForbidden, who.Name+" may not "+identity.AccessRequest(access).String()+"; bind a ClusterRole with nonResourceURLs to it")
	}
	return nil
}
