package agent

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

// Readiness is the address of the agent's own endpoint, empty before Run listens.
func (a *Agent) Readiness() string { return text(a.state.readiness.Load()) }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// handler answers /healthz while the agent runs, and /readyz while Envoy has
// its configuration and is not draining. From this host it takes POST /drain, and
// /drained says whether all that came in is done.
func (a *Agent) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("POST /drain", func(w http.ResponseWriter, r *http.Request) {
		if !local(r) {
			http.Error(w, "only this host may drain its sidecar", http.StatusForbidden)
			return
		}
		if err := a.begin(r.Context(), drainInbound); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "draining")
	})
	mux.HandleFunc("GET /drained", func(w http.ResponseWriter, r *http.Request) {
		if !local(r) || !a.done(r.Context()) {
			http.Error(w, "requests are under way, or it does not drain", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "drained")
	})
	return mux
}

// local reports whether a request comes from this host, or from this pod, and from no
// page of a browser.
func local(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback() && r.Header.Get("Origin") == ""
}

// ready asks Envoy, which is live only after the first configuration arrived whole. A workload
// that starts then calls by names of the mesh, so they come before, if they come soon.
func (a *Agent) ready(r *http.Request) error {
	if a.state.draining.Load() {
		return errors.New("draining")
	}
	if err := a.admin(r.Context(), http.MethodGet, "/ready"); err != nil {
		return err
	}
	if a.identity != nil {
		if err := a.identity.Ready(time.Now()); err != nil {
			return err
		}
	}
	return a.named(time.Now())
}
