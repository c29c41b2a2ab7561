package control_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/inject"
)

// TestAPIServerTrustsWhoKeepsCertificates: with --certificates the control plane shows what
// is in the directory, sidecars trust the authority there, and weft does not touch hooks
// that cert-manager keeps (spec/kubernetes.md 6.6).
func TestAPIServerTrustsWhoKeepsCertificates(t *testing.T) {
	t.Parallel()
	a := &admitted{T: t, Cluster: kubetest.Start(t)}
	for name, labels := range map[string]string{"weft-system": "", "on": inject.LabelInjection + ": enabled"} {
		create(t, a.Cluster, "/api/v1/namespaces", fmt.Sprintf(`metadata: {name: %q, labels: {%s}}`, name, labels))
	}
	for _, d := range crd.All(world.Catalog(), "dev") {
		if status, got := a.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	dir, files := t.TempDir(), kubetest.Certificates(t, "127.0.0.1")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.cfg = clustered(t, a.URL, a.Cluster)
	a.cfg.Namespace, a.cfg.Webhooks, a.cfg.Certificates = "weft-system", "127.0.0.1:0", dir
	a.plane = start(t, a.cfg)
	r := webhooks.RegistrationOf(inject.Default("dev"))
	r.URL, r.CA, r.Certificate = "https://"+a.plane.Webhooks(), []byte(files["ca.crt"]), "weft-control-plane" // as cert-manager writes it
	for plural, c := range map[string]any{"mutatingwebhookconfigurations": r.MutatingConfiguration(), "validatingwebhookconfigurations": r.ValidatingConfiguration()} {
		if status, got := a.Send(t, http.MethodPost, registrations+plural, c); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", plural, status, got["message"])
		}
	}
	a.asked()
	_, pod := a.Send(t, http.MethodPost, podsOfOn, a.pod("first", ""))
	if spec := fmt.Sprint(pod["spec"]); !strings.Contains(spec, files["ca.crt"]) {
		t.Error("the sidecar does not trust the authority of the directory")
	}
	for _, plural := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		_, c := a.Send(t, http.MethodGet, registrations+plural+"/weft", nil)
		for _, h := range c["webhooks"].([]any) {
			given, _ := h.(map[string]any)["clientConfig"].(map[string]any)["caBundle"].(string)
			if text, err := base64.StdEncoding.DecodeString(given); err != nil || string(text) != files["ca.crt"] {
				t.Errorf("%s trusts another authority than cert-manager's: %v", plural, err)
			}
		}
	}
}
