package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// --wait waits for sidecars that were connected before a restart and for the
// number that is expected, and hears of them by events.
func TestStatusWaitsForThoseThatAreExpected(t *testing.T) {
	t.Parallel()
	var asked, heard atomic.Int32
	const behind = `{"mesh": "default", "sidecars": {"revision": 7, "total": 2, "inSync": 1, "absent": 1, "missing": ["web-1"], "awaited": ["web-1"]}}`
	const good = `{"mesh": "default", "sidecars": {"revision": 7, "total": 2, "inSync": 2}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/_events":
			heard.Add(1)
			fmt.Fprint(w, ": weft\n\nid: 1\nevent: synced\ndata: {}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case asked.Add(1) == 1:
			fmt.Fprint(w, behind)
		default:
			fmt.Fprint(w, good)
		}
	}))
	t.Cleanup(server.Close)
	status := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"status", "--server", server.URL}, args...), strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := status("--wait", "30s"); code != cli.StatusDone || asked.Load() < 2 || heard.Load() != 1 || !strings.Contains(text, "2 in sync") {
		t.Errorf("%d after %d questions and %d streams of events\n%s", code, asked.Load(), heard.Load(), text)
	}
	if code, text := status("--wait", "1ms", "--expect", "3"); code != cli.StatusFailed || !strings.Contains(text, "2 of 3 expected sidecars are in sync") {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := status("--wait", "1s", "--expect", "2"); code != cli.StatusDone {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := status("--expect", "2"); code != cli.StatusUsage || !strings.Contains(text, "give --wait too") {
		t.Errorf("%d\n%s", code, text)
	}
	asked.Store(0)
	if _, text := status(); !strings.Contains(text, "not connected: web-1") {
		t.Errorf("who is missing has no name:\n%s", text)
	}
}

// Of a sidecar whose Envoy takes long it is said for how long, for what, and why that may be, also where
// it is waited for.
func TestStatusSaysWhatAnEnvoyWaitsFor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"mesh": "default", "sidecars": {"revision": 7, "total": 2, "inSync": 1, "behind": ["front"], "unconfirmed": [{"dataplane": "front", "type": "cds", "asked": true, "since": %q, "message": "DNS"}]}}`,
			time.Now().Add(-30*time.Minute-time.Second).Format(time.RFC3339Nano))
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]int{"status": cli.StatusDone, "status --wait 1ms": cli.StatusFailed} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(strings.Fields(args), "--server", server.URL), strings.NewReader(""), &out, &errs)
		for _, text := range []string{out.String(), errs.String()}[:1+want] {
			if !strings.Contains(text, "front has not confirmed clusters for 30m: DNS") || code != want {
				t.Errorf("%s: %d\n%s\n%s", args, code, out.String(), errs.String())
			}
		}
	}
}
