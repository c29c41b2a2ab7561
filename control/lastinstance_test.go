package control_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTheLastInstanceOfAServiceGoes (110): an outbound that a Dataplane lists listens whatever its endpoints are. A
// route away from a service holds while the service has no instance, without one failed request; where the single
// instance is made anew, callers get an answer of 503 meanwhile and no refused connection.
func TestTheLastInstanceOfAServiceGoes(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	cl, web, next := newMember(t, "cl-1", "cl", "web"), newMember(t, "web-1", "web", "cl"), newMember(t, "next-1", "next", "cl")
	const led = `type: MeshHTTPRoute
mesh: default
name: led
spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /}}], default: {backendRefs: [{kind: MeshService, name: next}]}}]}]}
---
`
	p.want(http.StatusOK, http.MethodPost, "/_apply", "type: Mesh\nname: default\n---\n"+cl.document+web.document+next.document+led)
	for _, name := range []string{"cl-1", "web-1", "next-1"} {
		p.sidecar(name, p.dataplaneToken(name, ""), discard())
	}
	answers := func(who string) func() bool {
		return func() bool { return strings.HasPrefix(requested(t.Context(), cl.outbound), who) }
	}
	eventually(t, "the route holds", answers("next"))
	settled := func(what string) {
		eventually(t, "cl-1 knows "+what, func() bool { return p.InSync("cl-1") })
	}
	sent, failed, stop := load(t, cl)
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/dataplanes/web-1", "")
	settled("that web is gone")
	before := sent.Load()
	eventually(t, "calls go on", func() bool { return sent.Load() > before+20 })
	p.want(http.StatusOK, http.MethodPost, "/_apply", web.document)
	settled("that web is back")
	stop()
	if failed.Load() > 0 {
		t.Errorf("%d of %d calls failed", failed.Load(), sent.Load())
	}
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshhttproutes/led", "")
	eventually(t, "the route is gone", answers("web"))
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/dataplanes/web-1", "")
	eventually(t, "nobody answers", func() bool { return requested(t.Context(), cl.outbound) == "" })
	for range 20 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", cl.outbound), 5*time.Second)
		if err != nil {
			t.Fatalf("the outbound does not listen: %v", err)
		}
		_ = conn.Close()
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", web.document)
	eventually(t, "it is back", answers("web"))
}
