package control_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/envoytest"
)

// also gives a member another outbound.
func (m *member) also(t *testing.T, service string) uint32 {
	t.Helper()
	port := envoytest.Port(t)
	m.document = strings.Replace(m.document, "outbound: [", fmt.Sprintf("outbound: [{port: %d, tags: {kuma.io/service: %s}}, ", port, service), 1)
	return port
}

// answeredAt is the status that a workload gets at an outbound; 0 for none.
func answeredAt(ctx context.Context, port uint32) int {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
	if err != nil {
		return 0
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// become waits until calls are answered so, and then makes some more, which must be too.
func become(t *testing.T, what string, want map[uint32]int) {
	t.Helper()
	for port, status := range want {
		eventually(t, fmt.Sprintf("%s: a call comes to %d", what, status), func() bool { return answeredAt(t.Context(), port) == status })
		for range 20 {
			if got := answeredAt(t.Context(), port); got != status {
				t.Fatalf("%s: %d after %d", what, got, status)
			}
		}
	}
}

// permissionFor lets one service call another.
func permissionFor(to, from string) string {
	return fmt.Sprintf("type: MeshTrafficPermission\nmesh: default\nname: %s\nspec: {targetRef: {kind: MeshSubset, tags: {kuma.io/service: %[1]s}}, rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/%s}}]}}]}\n---\n", to, from)
}

const defaultPermission = "/meshes/default/meshtrafficpermissions/mesh-traffic-permission-all-default"

// TestTheDefaultPermission (cases 16 and 18): in a mesh in which mutual TLS is switched on and
// nobody says who may call, all call each other through it; a permission for one workload then
// decides about that one alone.
func TestTheDefaultPermission(t *testing.T) {
	t.Parallel()
	p := secure(t, discard(), func(c *control.Config) { c.SkipDefaultPolicies = false })
	defer p.stop()
	backend, web, other := newMember(t, "backend-1", "backend", "web"), newMember(t, "web-1", "web", "backend"), newMember(t, "other-1", "other", "backend")
	toWeb := other.also(t, "web")
	strict := strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)
	p.want(http.StatusOK, http.MethodPost, "/_apply", backend.document+web.document+other.document+fmt.Sprintf(mutual, "ca-1", strict))
	for _, name := range []string{"backend-1", "web-1", "other-1"} {
		p.sidecar(name, p.dataplaneToken(name, ""), discard())
	}
	if made := p.want(http.StatusOK, http.MethodGet, defaultPermission, ""); !strings.Contains(made, `"weft.io/default":"true"`) {
		t.Errorf("the default permission is %s", made)
	}
	for who, port := range map[string]uint32{"web": web.outbound, "other": other.outbound, "backend": backend.outbound} {
		eventually(t, who+" is known to whom it calls", func() bool { return strings.Contains(requested(t.Context(), port), "URI=spiffe://default/"+who) })
	}
	become(t, "nobody says who may call", map[uint32]int{backend.outbound: 200, web.outbound: 200, other.outbound: 200, toWeb: 200})
	p.want(http.StatusOK, http.MethodPost, "/_apply", permissionFor("backend", "web"))
	become(t, "one permission", map[uint32]int{other.outbound: 403, web.outbound: 200, toWeb: 200, backend.outbound: 200})
}

// TestNoDefaultPermission (case 17): where somebody says who may call in the apply that switches
// mutual TLS on, there is no permission for all.
func TestNoDefaultPermission(t *testing.T) {
	t.Parallel()
	p := secure(t, discard(), func(c *control.Config) { c.SkipDefaultPolicies = false })
	defer p.stop()
	backend, web := newMember(t, "backend-1", "backend", "web"), newMember(t, "web-1", "web", "backend")
	p.want(http.StatusOK, http.MethodPost, "/_apply", backend.document+web.document+permissionFor("backend", "web")+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	p.sidecar("backend-1", p.dataplaneToken("backend-1", ""), discard())
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	p.want(http.StatusNotFound, http.MethodGet, defaultPermission, "")
	become(t, "backend lets web in, and nobody says who may call web", map[uint32]int{web.outbound: 200, backend.outbound: 403})
}
