package webhook_test

import (
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	registration "k8s.io/api/admissionregistration/v1"

	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/internal/kubetest"
)

// TestAPIServerTakesTheAuthority: hooks that trust nobody yet, called by address, trust
// weft after its patch, and are not patched again.
func TestAPIServerTakesTheAuthority(t *testing.T) {
	t.Parallel()
	b := &bed{T: t, Cluster: kubetest.Start(t)}
	b.hooks = httptest.NewTLSServer(webhook.Handler(webhook.Options{Catalog: catalog, Admission: chain(), Cluster: live{known(t, ""), t, b.Cluster}, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(b.hooks.Close)
	b.create("/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": "on", "labels": map[string]any{"kuma.io/sidecar-injection": "enabled"}}})
	r := webhooks.RegistrationOf(injection)
	r.URL = b.hooks.URL
	const group = "/apis/admissionregistration.k8s.io/v1/"
	b.create(group+"mutatingwebhookconfigurations", r.MutatingConfiguration())
	b.create(group+"validatingwebhookconfigurations", r.ValidatingConfiguration())
	b.until("pods are refused", func() (bool, any) {
		status, got := b.Send(b, http.MethodPost, "/api/v1/namespaces/on/pods?dryRun=All", pod("p", nil, nil))
		return status == http.StatusInternalServerError, got["message"]
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.hooks.Certificate().Raw})
	for range 2 {
		var mutating registration.MutatingWebhookConfiguration
		var validating registration.ValidatingWebhookConfiguration
		b.get(group+"mutatingwebhookconfigurations/weft", &mutating)
		b.get(group+"validatingwebhookconfigurations/weft", &validating)
		for path, patch := range map[string][]byte{"mutating": webhook.PatchMutating(&mutating, ca), "validating": webhook.PatchValidating(&validating, ca)} {
			if done := string(validating.Webhooks[0].ClientConfig.CABundle) == string(ca); done != (patch == nil) {
				t.Errorf("%s: patched once and again: %s", path, patch)
			} else if done {
				continue
			}
			if status, got := b.Patch(t, group+path+"webhookconfigurations/weft", patch); status != http.StatusOK {
				t.Fatalf("%s: %d %v", path, status, got["message"])
			}
			if status, _ := b.Patch(t, group+path+"webhookconfigurations/weft", patch); status < 400 {
				t.Errorf("%s: a patch of what was there before is taken", path)
			}
		}
	}
	b.until("pods are injected", func() (bool, any) {
		_, got := b.Send(b, http.MethodPost, "/api/v1/namespaces/on/pods?dryRun=All", pod("p", nil, nil))
		return len(inits(got)) == 2, got["message"]
	})
}

func (b *bed) get(path string, into any) {
	b.Helper()
	_, got := b.Send(b, http.MethodGet, path, nil)
	text, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		b.Fatal(err)
	}
}
