package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// weft mtls status --wait returns when the mesh waits for nothing, which it hears of by events, and fails
// with what it waits for where the time is over; without --wait it shows what there is.
func TestMTLSStatusWaitsForTheMesh(t *testing.T) {
	t.Parallel()
	var questions, after atomic.Int32 // the mesh is done after so many questions
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/_events":
			fmt.Fprint(w, ": weft\n\nid: 1\nevent: synced\ndata: {}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.URL.Path != "/meshes/shop/_mtls" || r.URL.Query().Get("name") != "web":
			http.NotFound(w, r)
		case questions.Add(1) <= after.Load():
			fmt.Fprint(w, `{"mesh": "shop", "phase": {"number": 1, "name": "Certificates", "waitsFor": ["web-1 has no certificate yet", "web-2 has no certificate yet"]}}`)
		default:
			fmt.Fprint(w, `{"mesh": "shop", "phase": {"number": 3, "name": "Permissive", "done": "all have certificates"}}`)
		}
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, wait    string
		after         int32
		status        int
		says          string
		least, atMost int32 // questions
	}{
		{"what is there is shown at once", "", 1, cli.StatusDone, "web-1 has no certificate yet", 1, 1},
		{"what is as it should be is not waited for", "--wait=1m", 0, cli.StatusDone, "Permissive", 1, 1},
		{"it waits", "--wait=1m", 2, cli.StatusDone, "Permissive", 3, 3},
		{"the time is over", "--wait=1ms", 1000, cli.StatusFailed, "after 1ms: Certificates waits: web-1 has no certificate yet", 1, 3},
	} {
		questions.Store(0)
		after.Store(c.after)
		args := []string{"mtls", "status", "--server", server.URL, "-m", "shop", "--name", "web"}
		if c.wait != "" {
			args = append(args, c.wait)
		}
		status, out, errs := said(t, args...)
		n := questions.Load()
		if status != c.status || !strings.Contains(out+errs, c.says) || n < c.least || n > c.atMost {
			t.Errorf("%s: exit %d after %d questions\n%s%s", c.name, status, n, out, errs)
		}
	}
}
