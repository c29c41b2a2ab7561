package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/mtls"
)

// strictMeshTLS makes all inbounds Strict that have an identity.
const strictMeshTLS = "type: MeshTLS\nmesh: default\nname: strict\nspec: {targetRef: {kind: Mesh}, rules: [{default: {mode: Strict}}]}\n---\n"

// TestAPlanTellsWhomASwitchRefuses (spec/identity.md 5, phase 0): before mutual TLS is switched on it
// is known who would get no certificate, and before an inbound is strict who has no identity.
func TestAPlanTellsWhomASwitchRefuses(t *testing.T) {
	t.Parallel()
	p := start(t, guarded(t)) // where nobody proves anything
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+memberDocument("pay-1", "payments"))
	text := p.want(http.StatusOK, http.MethodPost, "/_apply?dryRun=true", fmt.Sprintf(mutual, "ca-1", builtin))
	for _, want := range []string{"NoProof", "2 dataplanes would get no certificate", "web-1", "pay-1", `"field":"mtls"`} {
		if !strings.Contains(text, want) {
			t.Errorf("a plan that switches mutual TLS on lacks %s: %s", want, text)
		}
	}
	identity := "type: MeshIdentity\nmesh: default\nname: pay\nspec: {selector: {dataplane: {matchLabels: {app: pay}}}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}\n---\n"
	identity += strictMeshTLS
	labelled := strings.Replace(memberDocument("pay-1", "payments"), "name: pay-1", "name: pay-1\nlabels: {app: pay}", 1)
	text = p.want(http.StatusOK, http.MethodPost, "/_apply?dryRun=true", identity+labelled)
	for _, want := range []string{"NoIdentity", "1 dataplane without an identity", "web-1"} {
		if !strings.Contains(text, want) {
			t.Errorf("a plan by which an inbound gets strict lacks %s: %s", want, text)
		}
	}
}

// TestHowFarAMeshIs (spec/identity.md 5): the state of mutual TLS says which phase it is in, when that
// is over, and what it waits for.
func TestHowFarAMeshIs(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web"))
	phase := func() mtls.MTLSPhase { return get[mtls.MTLS](p, "/meshes/default/_mtls").Phase }
	if got := phase(); got.Number != 0 || got.Name != "Off" || got.Done == "" {
		t.Errorf("before anything: %+v", got)
	}
	_, end := p.stream("web-1", p.dataplaneToken("web-1", ""))
	defer end()
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "it waits for the certificate", func() bool {
		got := phase()
		return got.Number == 1 && len(got.WaitsFor) > 0 && strings.Contains(got.WaitsFor[0], "web-1 has no certificate yet")
	})
	end()
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	eventually(t, "Envoy takes mutual TLS beside plain text", func() bool { return phase().Name == "Permissive" })
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	eventually(t, "Envoy takes no plain text any more", func() bool { return phase().Name == "Strict" })
}
