package control_test

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/web/events"
)

func TestEventsTellOfAChangeUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	resp, err := http.Get("http://" + p.API() + "/_events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if lines.Scan(); !strings.HasPrefix(lines.Text(), ":") {
		t.Fatalf("it begins with %q", lines.Text())
	}
	defer p.connect("frontend-1")()
	p.want(http.StatusCreated, http.MethodPut, "/meshes/default/meshretries/mr-1", retryAll)
	seen := map[string]bool{}
	for lines.Scan() && !(seen["change"] && seen["recompute"] && seen["push"] && seen["connect"]) {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			seen[name] = true
		}
	}
	if !seen["recompute"] || !seen["push"] {
		t.Errorf("seen %v", seen)
	}
	eventually(t, "the change and what came of it are kept, with who made it", func() bool {
		kept := get[struct{ Items []events.Event }](p, "/_events?follow=false&type=change&type=recompute").Items
		at := slices.IndexFunc(kept, func(e events.Event) bool { return e.Type == "change" && e.Object == "MeshRetry/default/mr-1" })
		if at < 0 {
			return false
		}
		change := kept[at]
		if change.User != "anonymous" || !strings.HasPrefix(change.Client, "Go-http-client/") || change.Time.IsZero() {
			t.Fatalf("the change does not say who made it: %+v", change)
		}
		return slices.ContainsFunc(kept[at:], func(e events.Event) bool { return e.Type == "recompute" && e.Revision >= change.Revision })
	})
}
