package server_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// TestPermissionsAreAsFastAsRetries: a permission on requests that changes is at its sidecars as fast
// as a MeshRetry that does, and no listener of theirs is made anew for it (spec/identity.md 6; one on
// connections has to stand in the listener, 4.6). Both change by turns, so that whatever else the
// machine does slows both.
func TestPermissionsAreAsFastAsRetries(t *testing.T) {
	h := startHop(t, syncstatus.Delta, envoytest.StartBackend(t, "app").Port)
	h.put(mtlsMesh(t, "STRICT"), h.by.trust(), heard("server", true, true), heard("front", true, false))
	h.both()
	listeners := func() []byte {
		at, ok := h.model.Dataplane(dataplaneRef("server"))
		if !ok {
			t.Fatal("there is no server")
		}
		var out []byte
		for _, l := range h.by.Renderer.Render(at).Listeners {
			out = append(append(out, l.Name...), l.Content().GetValue()...)
		}
		return out
	}
	change := func(document string) time.Duration {
		began := time.Now()
		h.apply(document)
		h.both()
		return time.Since(began)
	}
	var permissions, retries []time.Duration
	var before []byte
	for i := range 40 {
		permissions = append(permissions, change(fmt.Sprintf(`{type: MeshTrafficPermission, mesh: default, name: p, spec: {targetRef: {kind: Dataplane, sectionName: web}, rules: [{default: {allow: [{spiffeID: {type: Exact, value: "spiffe://default/n%d"}}]}}]}}`, i)))
		if i == 0 {
			before = listeners()
		}
		retries = append(retries, change(fmt.Sprintf(`{type: MeshRetry, mesh: default, name: r, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: %d}}}]}}`, 1+i%5)))
	}
	if !bytes.Equal(before, listeners()) {
		t.Error("a permission changes a listener")
	}
	slices.Sort(permissions)
	slices.Sort(retries)
	p, r := permissions[len(permissions)/2], retries[len(retries)/2]
	t.Logf("at both sidecars, the median of %d: a permission after %v, a MeshRetry after %v, %.2f of it", len(permissions), p, r, float64(p)/float64(r))
	if p > 3*r/2+2*time.Millisecond {
		t.Errorf("a permission takes %v, a MeshRetry %v", p, r)
	}
}
