package control_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAPIServerOutage is row 55 of spec/kubernetes.md 8 with a short outage; TestLongOutage
// has that of the row.
func TestAPIServerOutage(t *testing.T) {
	t.Parallel()
	t.Logf("a change arrived %v after the API server was back", outage(t, 5*time.Second))
}

// outage: while the API server is away the control plane is ready and says how old its
// documents are, and a sidecar that restarts is served; when it is back, a change arrives
// after the time that outage returns.
func outage(t *testing.T, away time.Duration) time.Duration {
	t.Helper()
	a := proving(t)
	create(t, a.Cluster, "/api/v1/namespaces/on/services", `{metadata: {name: web}, spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}}`)
	token := a.token("weft-dataplane", "p1", a.run("p1", "198.51.100.1"))
	const timeouts = "/apis/kuma.io/v1alpha1/namespaces/on/meshtimeouts"
	create(t, a.Cluster, timeouts, `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	before := a.plane.connectTimeouts("p1.on", token)
	eventually(t, "the sidecar is served", func() bool { return before(17 * time.Second) })

	a.Stop()
	stopped := time.Now()
	eventually(t, "it is said how old the documents are", func() bool {
		code, text := a.plane.call(http.MethodGet, "/meshes/default/_status", "")
		return code == http.StatusOK && strings.Contains(text, "StaleDocuments")
	})
	time.Sleep(time.Until(stopped.Add(away)))
	a.plane.want(http.StatusOK, http.MethodGet, "/readyz", "")
	after := a.plane.connectTimeouts("p1.on", token)
	eventually(t, "it is served when it restarts", func() bool { return after(17 * time.Second) })

	a.Restart(t)
	back := time.Now()
	replace(t, a.Cluster, timeouts+"/slow", `[{"op": "replace", "path": "/spec/from/0/default/connectionTimeout", "value": "18s"}]`)
	eventually(t, "both streams have what was written afterwards", func() bool { return before(18*time.Second) && after(18*time.Second) })
	took := time.Since(back)
	eventually(t, "nothing is old any more", func() bool {
		_, text := a.plane.call(http.MethodGet, "/meshes/default/_status", "")
		return !strings.Contains(text, "StaleDocuments")
	})
	return took
}
