package control_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sync is what a status says of sidecars.
type syncStatus struct {
	Sidecars struct {
		Missing []string
		Awaited []string
	}
}

// After a restart the control plane knows who was there before, whether it was
// stopped in order or not, and forgets those that left before.
func TestWhoWasConnectedIsAwaitedAfterARestart(t *testing.T) {
	t.Parallel()
	c := config(t)
	first := start(t, c)
	first.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	defer first.connect("frontend-1")()
	gone := first.connect("backend-1")
	file := filepath.Join(c.DataDir, "connected.json")
	holds := func(name string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), name)
	}
	eventually(t, "both are kept", func() bool { return holds("frontend-1") && holds("backend-1") })
	gone()
	eventually(t, "who left is forgotten", func() bool { return holds("frontend-1") && !holds("backend-1") })
	first.stop()
	if !holds("frontend-1") {
		t.Fatal("the end of the control plane is taken for that of its sidecars")
	}

	second := start(t, c)
	second.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	status := func() (missing, awaited string) {
		s := get[syncStatus](second, "/meshes/default/_status").Sidecars
		return strings.Join(s.Missing, " "), strings.Join(s.Awaited, " ")
	}
	if missing, awaited := status(); missing != "backend-1 frontend-1" || awaited != "frontend-1" {
		t.Errorf("missing %q, awaited %q", missing, awaited)
	}
	back := second.connect("frontend-1")
	eventually(t, "it is back", func() bool {
		missing, awaited := status()
		return missing == "backend-1" && awaited == ""
	})
	back()
	eventually(t, "it left, and nobody waits for it", func() bool {
		missing, awaited := status()
		return missing == "backend-1 frontend-1" && awaited == ""
	})
}
