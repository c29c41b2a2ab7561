package control_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// TestMetricsOfASidecar: a document opens a port at which a real Envoy serves what its agent tells, another conf is told
// without a listener that changes, and the port closes with the document.
func TestMetricsOfASidecar(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	inbound, port := envoytest.Port(t), envoytest.Port(t)
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf("{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: %d, serviceAddress: 127.0.0.2, name: main, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}", inbound, inbound))
	write := func(sidecar string) {
		t.Helper()
		p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf("{type: MeshMetric, mesh: default, name: all, spec: {default: {%sbackends: [{type: Prometheus, prometheus: {port: %d}}]}}}", sidecar, port))
	}
	fetch := func() (text string, open bool) {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			return "", false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err == nil && resp.StatusCode == http.StatusOK
	}
	write("")
	p.runs("web-1")
	eventually(t, "metrics are served", func() bool {
		text, open := fetch()
		return open && strings.Contains(text, `mesh="default",dataplane="web-1",service="web"`) && !strings.Contains(text, "envoy_server_live")
	})
	const dp = "/meshes/default/dataplanes/web-1"
	for path, want := range map[string]string{"/_explain": `"MeshMetric"`, "/_rules": `"proxyRule"`, "/_policies": `"MeshMetric"`} {
		if text := p.want(http.StatusOK, http.MethodGet, dp+path, ""); !strings.Contains(text, want) {
			t.Errorf("%s does not say %s:\n%.2000s", path, want, text)
		}
	}
	write("sidecar: {profiles: {appendProfiles: [{name: All}]}}, ")
	eventually(t, "another conf is told", func() bool {
		text, open := fetch()
		return open && strings.Contains(text, "envoy_server_live")
	})
	if text := p.want(http.StatusOK, http.MethodGet, dp+"/stats", ""); !strings.Contains(text, "listener_manager.listener_modified: 0\n") {
		t.Error("a listener was changed for another profile")
	}
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshmetrics/all", "")
	eventually(t, "the port closes", func() bool { _, open := fetch(); return !open })
}
