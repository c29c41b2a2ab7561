package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sidecar/agent"
)

// TestAGuestTakesNoTraffic (104): where mutual TLS is Strict, a sidecar that brings its Dataplane along answers for a
// MeshService by the tags and labels that its token binds, and by no others that it writes.
func TestAGuestTakesNoTraffic(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	pay, cl := newMember(t, "pay-1", "payments", "web"), newMember(t, "cl-1", "cl", "payments")
	served := strings.NewReplacer("{kuma.io/service: payments,", "{kuma.io/service: payments, app: payments,", "networking:", "labels: {team: ledger}\nnetworking:").Replace(pay.document)
	byTag, byLabel := cl.outbound, cl.outbound+1
	calls := strings.Replace(cl.document, fmt.Sprintf("outbound: [{port: %d, tags: {kuma.io/service: payments}}]", byTag), fmt.Sprintf(
		"outbound: [{port: %d, backendRef: {kind: MeshService, name: payments, port: 80}}, {port: %d, backendRef: {kind: MeshService, name: ledger, port: 80}}]", byTag, byLabel), 1)
	services := fmt.Sprintf(`type: MeshService
mesh: default
name: payments
spec: {selector: {dataplaneTags: {app: payments}}, ports: [{port: 80, targetPort: %d, appProtocol: http}]}
---
type: MeshService
mesh: default
name: ledger
spec: {selector: {dataplaneLabels: {matchLabels: {team: ledger}}}, ports: [{port: 80, targetPort: %d, appProtocol: http}]}
---
`, pay.inbound, pay.inbound)
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+services+served+calls+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
	p.sidecar("cl-1", p.dataplaneToken("cl-1", ""), discard())
	for _, port := range []uint32{byTag, byLabel} {
		eventually(t, "payments answers", func() bool { return strings.HasPrefix(requested(t.Context(), port), "payments") })
	}
	guest := func(name, address, claims string) {
		t.Helper()
		m := newMember(t, name, name, "payments")
		document := strings.NewReplacer("127.0.0.1", address, fmt.Sprintf("port: %d, servicePort", m.inbound), fmt.Sprintf("port: %d, serviceAddress: 127.0.0.1, servicePort", pay.inbound),
			"{kuma.io/service: "+name+",", "{kuma.io/service: "+name+", app: payments,", "networking:", "labels: {team: ledger}\nnetworking:").Replace(m.document)
		sidecarOf(t, p.XDS(), p.dir, name, p.dataplaneToken(name, `,"tags":{"kuma.io/service":["`+name+`"]`+claims), discard(), func(c *agent.Config) { c.Dataplane = []byte(document) })
		eventually(t, name+" runs", func() bool { return p.Reported(name) && p.InSync(name) && p.InSync("cl-1") })
	}
	guest("evil", "127.0.0.2", `}`)
	guest("good", "127.0.0.3", `,"app":["payments"]},"labels":{"team":["ledger"]}`)
	for _, port := range []uint32{byTag, byLabel} { // who came last is called, so what came before has arrived
		seen := map[string]int{}
		eventually(t, "the guest that may answers", func() bool {
			who, _, _ := strings.Cut(requested(t.Context(), port), " ")
			seen[who]++
			return seen["good"] >= 5 && seen["payments"] >= 5
		})
		if seen["evil"] > 0 || seen[""] > 0 {
			t.Errorf("calls at port %d were answered by %v", port, seen)
		}
	}
	if notes := p.want(http.StatusOK, http.MethodGet, "/_problems?mesh=default", ""); !strings.Contains(notes, "UnprovenMember") || !strings.Contains(notes, "weft token dataplane --mesh default --name evil --label team=ledger --tag app=payments") {
		t.Errorf("no problem says what the token of the guest lacks: %s", notes)
	}
}
