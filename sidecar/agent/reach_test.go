package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weftmesh/weft/sidecar/agent"
)

// TestAControlPlaneIsReached: who looks whether a sidecar would reach its control plane asks as the sidecar does, by
// its token and for its dataplane, and is told what was answered, in words, and what time it is there. A control
// plane that is not there is an error.
func TestAControlPlaneIsReached(t *testing.T) {
	t.Parallel()
	there := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var path, token string
	var asked map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, token = r.Method+" "+r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Date", there.Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"title":"Not allowed","detail":"there is no key"}`)
	}))
	t.Cleanup(s.Close)
	c := config(s.URL)
	c.TokenFile = write(t, "token", "secret")
	got, err := agent.CheckControlPlane(t.Context(), c)
	if want := (agent.Reached{Clock: there, Status: http.StatusForbidden, Says: "Not allowed: there is no key"}); err != nil || got != want {
		t.Errorf("%+v %v, not %+v", got, err, want)
	}
	if path != "POST /certify" || token != "Bearer secret" || asked["mesh"] != c.Mesh || asked["name"] != c.Name || len(asked) != 2 {
		t.Errorf("it is asked by %s, token %q, for %v", path, token, asked)
	}
	s.Close()
	if got, err := agent.CheckControlPlane(t.Context(), c); err == nil {
		t.Errorf("of one that is not there is told %+v", got)
	}
}
