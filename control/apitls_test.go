package control_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/kubetest"
)

// over asks an address by HTTPS.
func over(t *testing.T, trust *tls.Config, url, token string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestAPIServerSaysWhoReadsMetrics: by HTTPS with the certificate of the cluster's authority
// kubelets need no token, and metrics are for those whom RBAC allows them.
func TestAPIServerSaysWhoReadsMetrics(t *testing.T) {
	t.Parallel()
	a := admitting(t, func(c *control.Config) {
		c.DataplaneAuth, c.XDSPlaintext, c.APITLS, c.TrafficMetrics = "token", false, "127.0.0.1:0", true
	})
	a.trustRoots()
	for _, name := range []string{"prometheus", "grafana", "nobody"} {
		create(t, a.Cluster, "/api/v1/namespaces/on/serviceaccounts", `metadata: {name: `+name+`}`)
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	create(t, a.Cluster, rbac+"clusterroles", `{metadata: {name: metrics}, rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}`)
	create(t, a.Cluster, rbac+"clusterrolebindings", `{metadata: {name: metrics}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics},
subjects: [{kind: ServiceAccount, name: prometheus, namespace: "on"}]}`)
	create(t, a.Cluster, rbac+"clusterroles", `{metadata: {name: traffic}, rules: [{nonResourceURLs: [/metrics/traffic], verbs: [get]}]}`)
	create(t, a.Cluster, rbac+"clusterrolebindings", `{metadata: {name: traffic}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: traffic},
subjects: [{kind: ServiceAccount, name: grafana, namespace: "on"}]}`)
	token := func(account, audience string) string {
		_, got := a.Send(t, http.MethodPost, "/api/v1/namespaces/on/serviceaccounts/"+account+"/token", map[string]any{"spec": map[string]any{"audiences": strings.Fields(audience)}})
		return got["status"].(map[string]any)["token"].(string)
	}
	url := "https://" + a.plane.APITLS()
	for _, c := range []struct {
		path, token string
		want        int
		says        string
	}{
		{"/healthz", "", 200, "ok"},
		{"/readyz", "", 200, "ok"},
		{"/metrics", "", 401, "weft-api"},
		{"/metrics", "nonsense", 401, ""},
		{"/metrics", token("prometheus", ""), 200, "weft_leader"},
		{"/metrics", token("prometheus", "weft-api"), 200, "weft_leader"},
		{"/metrics", token("prometheus", "weft-dataplane"), 401, ""},
		{"/metrics", token("nobody", ""), 403, "system:serviceaccount:on:nobody may not get /metrics"},
		{"/metrics/traffic", "", 401, "weft-api"},
		{"/metrics/traffic", token("prometheus", ""), 403, "system:serviceaccount:on:prometheus may not get /metrics/traffic"},
		{"/metrics/traffic", token("grafana", ""), 200, "weft_request_series 0"},
		{"/metrics", token("grafana", ""), 403, ""},
		{"/meshes", token("prometheus", "weft-api"), 404, ""},
	} {
		if code, text := over(t, a.plane.trusts, url+c.path, c.token); code != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %.300s, want %d %s", c.path, code, text, c.want, c.says)
		}
	}
}

// TestKubeletsAskBeforeTheAuthorityIsKnown: a process that waits for its API server lives.
func TestKubeletsAskBeforeTheAuthorityIsKnown(t *testing.T) {
	t.Parallel()
	cfg := clustered(t, "https://127.0.0.1:1", &kubetest.Cluster{Token: "none"})
	cfg.Namespace, cfg.APITLS = "weft-system", "127.0.0.1:0"
	p := serving(t, cfg, discard())
	url := "https://" + p.APITLS()
	blind := &tls.Config{InsecureSkipVerify: true}
	eventually(t, "it serves", func() bool { code, _ := over(t, blind, url+"/healthz", ""); return code == http.StatusOK })
	if code, text := over(t, blind, url+"/readyz", ""); code != http.StatusServiceUnavailable || strings.Contains(text, "authority") {
		t.Errorf("whether it is ready: %d %s", code, text)
	}
	if code, text := over(t, nil, url+"/healthz", ""); code != 0 {
		t.Errorf("somebody trusts that certificate: %d %s", code, text)
	}
}

// TestAPIServerSaysWhoHearsWhatIsMissing: anybody hears that a control plane is not ready, and
// why is for those whom the cluster knows.
func TestAPIServerSaysWhoHearsWhatIsMissing(t *testing.T) {
	t.Parallel()
	c := defined(t)
	create(t, c, "/api/v1/namespaces/weft-system/secrets", `{metadata: {name: weft-ca}, type: Opaque, data: {x: eA==}}`)
	cfg := replicated(t, c, "a")
	cfg.APITLS = "127.0.0.1:0"
	p := serving(t, cfg, discard())
	token, err := os.ReadFile(accountOfPlanes(t, c, "https://kubernetes.default.svc"))
	if err != nil {
		t.Fatal(err)
	}
	url, blind := "https://"+p.APITLS()+"/readyz", &tls.Config{InsecureSkipVerify: true}
	said := func(token string) string {
		code, text := over(t, blind, url, token)
		if code != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", code, text)
		}
		return text
	}
	eventually(t, "an account hears what is missing", func() bool { return strings.Contains(said(string(token)), "secret weft-ca of namespace weft-system") })
	for _, token := range []string{"", "forged"} {
		if text := said(token); strings.Contains(text, "weft-ca") || !strings.Contains(text, "not ready") {
			t.Errorf("with the token %q: %s", token, text)
		}
	}
}
