package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What was stored is said, also where the pruning that follows fails.
func TestApplySaysWhatItStoredBeforePruningFailed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"revision": 7, "results": [{"object": "Mesh/new", "action": "created"}]}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	mesh := strings.NewReader("type: MeshRetry\nmesh: new\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n")
	got := run(t.Context(), []string{"apply", "-f", "-", "--prune", "-l", "team=a", "--server", server.URL}, mesh, &out, &errs)
	if got != statusFailed || out.String() != "Mesh/new created\n" || !strings.Contains(errs.String(), "prune: the control plane answers 503") {
		t.Errorf("exit status %d\nstdout: %sstderr: %s", got, &out, &errs)
	}
}
