package control_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/deploy"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/xds/server/authority"
)

// TestAPIServerSecretsOfNamedNamespaces: a listener shows the certificate of a Secret of a
// namespace that the control plane is given, and names the value where it is not.
func TestAPIServerSecretsOfNamedNamespaces(t *testing.T) {
	t.Parallel()
	c := defined(t)
	text, err := deploy.GatewayAPI("standard")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range kubetest.Documents(t, text) {
		c.Apply(t, o, "")
	}
	data := certificate(t)
	for _, namespace := range []string{"given", "other"} {
		create(t, c, "/api/v1/namespaces", `metadata: {name: `+namespace+`}`)
		create(t, c, "/api/v1/namespaces/"+namespace+"/secrets", fmt.Sprintf(`{metadata: {name: cert}, type: kubernetes.io/tls, data: {tls.crt: %s, tls.key: %s}}`, data["tls.crt"], data["tls.key"]))
	}
	cfg := replicated(t, c, "a")
	cfg.SecretNamespaces = []string{"given"}
	start(t, cfg)
	const gateways = "/apis/gateway.networking.k8s.io/v1/"
	eventually(t, "the kinds of the Gateway API are served", func() bool {
		status, _ := c.Send(t, http.MethodPost, gateways+"gatewayclasses", kubetest.Document(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: weft}, spec: {controllerName: weft.io/controller}}`))
		return status == http.StatusCreated || status == http.StatusConflict
	})
	listener := func(namespace string) string {
		var s struct {
			Listeners []struct {
				Conditions []struct{ Type, Status, Reason, Message string }
			}
		}
		statusAt(t, c, gateways+"namespaces/"+namespace+"/gateways/edge", &s)
		return fmt.Sprint(s.Listeners)
	}
	for namespace, want := range map[string]string{
		"given": "{ResolvedRefs True ResolvedRefs",
		"other": "add namespace other to the value secrets.namespaces",
	} {
		create(t, c, gateways+"namespaces/"+namespace+"/gateways", `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: weft, listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}]}`)
		said := ""
		eventually(t, "the listener of namespace "+namespace+" says "+want, func() bool {
			said = listener(namespace)
			return strings.Contains(said, want)
		})
	}
}

// certificate is one with its key, as Secrets hold them.
func certificate(t *testing.T) map[string]string {
	t.Helper()
	b, err := authority.NewBundle(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString
	return map[string]string{"tls.crt": encoded(b.Data()[authority.BundleCertificates]), "tls.key": encoded(b.Data()[authority.BundleKeys])}
}
