package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestBothEndsOfARefusedCallAreTold (spec/identity.md 3.3, 3.1): who has no identity and calls who takes
// mutual TLS alone is told so, as is who is called; the identities of a service are those of its
// dataplanes.
func TestBothEndsOfARefusedCallAreTold(t *testing.T) {
	t.Parallel()
	p := start(t, guarded(t))
	defer p.stop()
	pay := strings.Replace(memberDocument("pay-1", "payments"), "name: pay-1", "name: pay-1\nlabels: {app: pay}", 1)
	caller := "type: Dataplane\nmesh: default\nname: web-1\nnetworking: {address: 127.0.0.1, inbound: [{port: 8081, tags: {kuma.io/service: web}}], outbound: [{port: 9090, tags: {kuma.io/service: payments}}]}\n---\n"
	identity := func(labels string) string {
		return "type: MeshIdentity\nmesh: default\nname: own\nspec: {selector: {dataplane: {matchLabels: {" + labels + "}}}, spiffeID: {path: '/pay'}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}\n---\n"
	}
	service := "type: MeshService\nmesh: default\nname: pay\nspec: {selector: {dataplaneTags: {kuma.io/service: payments}}, ports: [{port: 8080, targetPort: 8080}], identities: [{type: SpiffeID, value: 'spiffe://x/written'}]}\n---\n"
	p.want(http.StatusOK, http.MethodPost, "/_apply", pay+caller+service+strictMeshTLS+identity("app: pay"))
	for name, other := range map[string]string{"web-1": "payments", "pay-1": "web-1"} {
		text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/"+name+"/_explain", "")
		if !strings.Contains(text, `"StrictDestination"`) || !strings.Contains(text, other) {
			t.Errorf("%s is not told of a call that is refused: %s", name, text)
		}
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Count(text, `"StrictDestination"`) != 2 {
		t.Errorf("problems: %s", text)
	}
	shown := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshservices/pay", "")
	if !strings.Contains(shown, `"identities":[{"type":"SpiffeID","value":"spiffe://default.default.mesh.local/pay"}]`) {
		t.Errorf("identities of the service: %s", shown)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", identity("")) // all of them
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, `"StrictDestination"`) {
		t.Errorf("with identities for all: %s", text)
	}
}

// TestClocksThatDifferAreTold (spec/identity.md 2.2): a sidecar whose host has another time is told of
// where certificates depend on it.
func TestClocksThatDifferAreTold(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+memberDocument("web-2", "web")+fmt.Sprintf(mutual, "ca-1", builtin))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: p.trusts}}
	defer client.CloseIdleConnections()
	for name, off := range map[string]time.Duration{"web-1": -5 * time.Minute, "web-2": 10 * time.Second} {
		if code, text := p.ask(client, "https://"+p.XDS(), p.dataplaneToken(name, ""), map[string]any{"mesh": "default", "name": name, "clock": time.Now().Add(off)}); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
	}
	var text string
	eventually(t, "the clock of web-1 is told of", func() bool {
		text = p.want(http.StatusOK, http.MethodGet, "/_problems", "")
		return strings.Contains(text, `"ClockSkew"`) && strings.Contains(text, "behind")
	})
	if strings.Count(text, `"ClockSkew"`) != 1 || strings.Contains(text, "web-2") {
		t.Errorf("one clock is off: %s", text)
	}
}
