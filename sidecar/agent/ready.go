package agent

import (
	"errors"
	"fmt"
	"net/http"
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
// its configuration and is not draining.
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
	return mux
}

// ready asks Envoy, which is live only after the first configuration arrived whole.
func (a *Agent) ready(r *http.Request) error {
	if a.state.draining.Load() {
		return errors.New("draining")
	}
	return a.admin(r.Context(), http.MethodGet, "/ready")
}
