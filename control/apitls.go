package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/xds/server/limit"
)

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
	metrics := promhttp.HandlerFor(p.observe.Registry, promhttp.HandlerOpts{})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if err := p.mayRead(r); err != nil {
			httpapi.Refuse(w, err)
			return
		}
		limit.Proven(r.Context())
		metrics.ServeHTTP(w, r)
	})
	if p.cfg.APIExpose {
		mux.Handle("/", p.onceRead(p.exposed))
	}
	return mux, nil
}

// members are the users of the cluster, as it says who they are and what they may.
type members struct{ users *identity.Users }

// WhoIs asks the API server, or remembers what it said.
func (m members) WhoIs(ctx context.Context, token string) (rights.Member, error) {
	who, err := m.users.WhoIs(ctx, token, false)
	if errors.Is(err, identity.ErrNobody) {
		err = fmt.Errorf("%w: %w", rights.ErrNobody, err)
	}
	return rights.Member{Name: who.Name, Groups: who.Groups, May: func(ctx context.Context, a rights.Access) (bool, error) {
		return m.users.May(ctx, who, identity.Access(a))
	}, Said: func(a rights.Access) (may, known bool) { return m.users.Said(who, identity.Access(a)) }}, err
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
	who, err := p.users.WhoIs(r.Context(), strings.TrimSpace(token), true)
	switch {
	case errors.Is(err, identity.ErrNobody):
		return httpapi.Refusal(http.StatusUnauthorized, err.Error())
	case err != nil:
		return httpapi.Refusal(http.StatusServiceUnavailable, err.Error())
	}
	access := identity.Access{Verb: "get", Path: r.URL.Path}
	may, err := p.users.May(r.Context(), who, access)
	switch {
	case err != nil:
		return httpapi.Refusal(http.StatusServiceUnavailable, err.Error())
	case !may:
		return httpapi.Refusal(http.StatusForbidden, who.Name+" may not "+access.String()+"; bind a ClusterRole with nonResourceURLs to it")
	}
	return nil
}
