package control_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
)

// TestAPIServerSaysWhatUsersSee: of a cluster a user sees by the API what RBAC lets them get and
// list there, and of lists the part of their namespaces (spec/kubernetes.md 7.5).
func TestAPIServerSaysWhatUsersSee(t *testing.T) {
	t.Parallel()
	a := withUsers(t)
	reader, operator, ordinary := a.tokenOf("reader", "weft-api"), a.tokenOf("operator", "weft-api"), a.tokenOf("operator", "")
	const mesh = "/meshes/default"
	for _, c := range []struct {
		token, method, path, body string
		want                      int
		says                      string
	}{
		{"", "GET", mesh, "", 401, "weft-api"},
		{ordinary, "GET", mesh, "", 401, "weft-api"},
		{reader, "GET", "/who-am-i", "", 200, "system:serviceaccount:on:reader"},
		{reader, "GET", mesh + "/meshretries", "", 200, `"total":1`},
		{reader, "GET", mesh + "/meshretries?size=1", "", 200, `"total":1`},
		{reader, "GET", "/meshretries", "", 200, `"r.on"`},
		{reader, "GET", mesh + "/dataplanes", "", 200, `"total":1`},
		{reader, "GET", mesh + "/dataplanes/_overview", "", 200, `"vm.on"`},
		{reader, "GET", mesh + "/_sidecars", "", 200, `"total":1`},
		{reader, "GET", mesh + "/meshtimeouts", "", 200, `"total":0`},
		{reader, "GET", mesh + "/meshretries/r.on", "", 200, `numRetries`},
		{reader, "GET", mesh + "/meshretries/r.off", "", 403, "may not get meshretries of kuma.io in namespace off"},
		{reader, "GET", "/k8s/kuma.io/v1alpha1/namespaces/off/meshretries/r", "", 403, ""},
		{reader, "GET", mesh + "/meshretries/none", "", 403, ""},
		{reader, "GET", mesh + "/dataplanes/vm.on/_explain", "", 200, `"dataplane"`},
		{reader, "GET", mesh + "/dataplanes/vm.on/_rules", "", 200, ``},
		{reader, "GET", mesh + "/dataplanes/vm.off/_explain", "", 403, "dataplanes/explain"},
		{reader, "GET", mesh + "/dataplanes/vm.on/xds", "", 403, "dataplanes/envoy"},
		{reader, "GET", mesh + "/dataplanes/vm.on/stats", "", 403, "dataplanes/envoy"},
		{reader, "GET", mesh + "/meshretries/r.on/_explain", "", 200, ""},
		{reader, "GET", mesh + "/_status", "", 200, `"total":1,"objects":[{"object":"MeshRetry/default/on/r"`},
		{reader, "GET", mesh + "/_status?name=mesh-", "", 200, `"missing":["vm.on"]`},
		{reader, "GET", "/_problems", "", 200, `"code":"Cut"`},
		{reader, "GET", "/_events", "", 403, "list meshes"},
		{reader, "GET", "/global-insight", "", 403, "list meshes"},
		{reader, "GET", "/meshes", "", 403, "list meshes"},
		{reader, "POST", "/tokens/dataplane", `{"name":"vm.on"}`, 403, "dataplanes/token"},
		{reader, "POST", "/_apply?dryRun=true", strings.Replace(retryOf("r", "{numRetries: 4}", ""), "name: r,", "name: r, namespace: 'on',", 1), 200, `"dataplane":"vm.on"`},
		{reader, "POST", "/_apply?dryRun=true", strings.Replace(retryOf("r", "{numRetries: 4}", ""), "name: r,", "name: r, namespace: 'off',", 1), 403, "namespace off"},
		{reader, "GET", "/metrics", "", 403, "/metrics"},
		{reader, "GET", "/metrics/traffic", "", 403, "may not get /metrics/traffic"},
		{operator, "GET", "/metrics/traffic", "", 200, "weft_request_series 0"},
		{reader, "GET", "/config", "", 403, "may not get /config"},
		{operator, "GET", "/config", "", 200, `"store":"kube"`},
		{operator, "GET", mesh + "/meshretries", "", 200, `"total":2`},
		{operator, "GET", mesh + "/_status", "", 200, ""},
		{operator, "GET", "/metrics", "", 200, "weft_"},
		{operator, "GET", mesh + "/dataplanes/vm.off/_explain", "", 200, ""},
		{operator, "GET", mesh + "/dataplanes/vm.off/stats", "", 503, ""}, // no sidecar is connected
	} {
		code, text := a.asks(c.token, c.method, c.path, c.body)
		if code != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %.300s, want %d %s", c.method, c.path, code, text, c.want, c.says)
		}
		if c.token == reader && code == http.StatusOK && strings.Contains(text, ".off") {
			t.Errorf("%s %s tells of another namespace: %.300s", c.method, c.path, text)
		}
	}
}

// withUsers is a cluster with the same documents in two namespaces, an account reader that may
// read in one of them, and an account operator that may do everything.
func withUsers(t *testing.T) *admitted {
	t.Helper()
	a := admitting(t, func(c *control.Config) {
		c.AdminAuth, c.APITLS, c.APIExpose, c.TrafficMetrics = "token", "127.0.0.1:0", true, true
	})
	a.trustRoots()
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	create(t, a.Cluster, rbac+"clusterroles", `{metadata: {name: viewer}, rules: [{apiGroups: [kuma.io], resources: [meshretries, dataplanes], verbs: [get, list]},
{apiGroups: [kuma.io], resources: [dataplanes/explain], verbs: [get]}]}`)
	for name, path := range map[string]string{"reader": "namespaces/on/rolebindings", "operator": "clusterrolebindings"} {
		role := map[string]string{"reader": "viewer", "operator": "cluster-admin"}[name]
		create(t, a.Cluster, "/api/v1/namespaces/on/serviceaccounts", `metadata: {name: `+name+`}`)
		create(t, a.Cluster, rbac+path, fmt.Sprintf(`{metadata: {name: %[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}, subjects: [{kind: ServiceAccount, name: %[1]s, namespace: "on"}]}`, name, role))
	}
	for _, namespace := range []string{"on", "off"} {
		create(t, a.Cluster, "/apis/kuma.io/v1alpha1/namespaces/"+namespace+"/meshretries", retryOf("r", "{numRetries: 3}", ""))
		create(t, a.Cluster, "/apis/kuma.io/v1alpha1/namespaces/"+namespace+"/dataplanes", `{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm},
spec: {networking: {address: 198.51.100.9, inbound: [{port: 80, tags: {kuma.io/service: vm, kuma.io/protocol: http}}], outbound: [{port: 10001, tags: {kuma.io/service: vm}}]}}}`)
	}
	eventually(t, "all is read", func() bool {
		code, text := a.plane.call(http.MethodGet, "/meshes/default/dataplanes", "")
		return code == http.StatusOK && strings.Contains(text, `"vm.on"`) && strings.Contains(text, `"vm.off"`) && strings.Contains(a.plane.want(http.StatusOK, http.MethodGet, "/meshes/default/meshretries", ""), `"total":2`)
	})
	return a
}

// asks is one request to the API by HTTPS.
func (a *admitted) asks(token, method, path, body string) (int, string) {
	a.Helper()
	transport := &http.Transport{TLSClientConfig: a.plane.trusts}
	defer transport.CloseIdleConnections()
	q, err := http.NewRequestWithContext(a.Context(), method, "https://"+a.plane.APITLS()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		a.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// tokenOf is a token of an account of namespace on.
func (a *admitted) tokenOf(account, audience string) string {
	a.Helper()
	_, got := a.Send(a, http.MethodPost, "/api/v1/namespaces/on/serviceaccounts/"+account+"/token", map[string]any{"spec": map[string]any{"audiences": strings.Fields(audience)}})
	return got["status"].(map[string]any)["token"].(string)
}
