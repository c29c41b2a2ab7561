package control_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
)

// guests are a strict mesh whose services payments (by a tag) and ledger (by a label) pay-1 answers for, cl-1 calls
// them at two ports, and others may come.
type guests struct {
	*plane
	t              *testing.T
	pay            member
	byTag, byLabel uint32
}

func newGuests(t *testing.T) *guests {
	t.Helper()
	p := secure(t, discard())
	t.Cleanup(p.stop)
	pay, cl := newMember(t, "pay-1", "payments", "web"), newMember(t, "cl-1", "cl", "payments")
	g := &guests{plane: p, t: t, pay: pay, byTag: cl.outbound, byLabel: envoytest.Port(t)}
	served := strings.NewReplacer("{kuma.io/service: payments,", "{kuma.io/service: payments, app: payments,", "networking:", "labels: {team: ledger}\nnetworking:").Replace(pay.document)
	calls := strings.Replace(cl.document, fmt.Sprintf("outbound: [{port: %d, tags: {kuma.io/service: payments}}]", g.byTag), fmt.Sprintf(
		"outbound: [{port: %d, backendRef: {kind: MeshService, name: payments, port: 80}}, {port: %d, backendRef: {kind: MeshService, name: ledger, port: 80}}]", g.byTag, g.byLabel), 1)
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
	for _, port := range []uint32{g.byTag, g.byLabel} {
		eventually(t, "payments answers", func() bool { return g.answers(port) == "payments" })
	}
	return g
}

// answers is who answers a call at a port; empty where nobody does.
func (g *guests) answers(port uint32) string {
	who, _, _ := strings.Cut(requested(g.t.Context(), port), " ")
	return who
}

// comes has a sidecar bring a Dataplane along that answers for both services, with a token of more claims.
func (g *guests) comes(name, address, claims string) {
	g.t.Helper()
	m := newMember(g.t, name, name, "payments")
	document := strings.NewReplacer("127.0.0.1", address, fmt.Sprintf("port: %d, servicePort", m.inbound), fmt.Sprintf("port: %d, serviceAddress: 127.0.0.1, servicePort", g.pay.inbound),
		"{kuma.io/service: "+name+",", "{kuma.io/service: "+name+", app: payments,", "networking:", "labels: {team: ledger}\nnetworking:").Replace(m.document)
	token := g.dataplaneToken(name, `,"tags":{"kuma.io/service":["`+name+`"]`+claims)
	sidecarOf(g.t, g.XDS(), g.dir, name, token, discard(), func(c *agent.Config) { c.Dataplane = []byte(document) })
	eventually(g.t, name+" runs", func() bool { return g.Reported(name) && g.InSync(name) && g.InSync("cl-1") })
}

// bound are the claims of a token that bind what both services select by.
const bound = `,"app":["payments"]},"labels":{"team":["ledger"]}`

// TestAGuestTakesNoTraffic (104): where mutual TLS is Strict, a sidecar that brings its Dataplane along answers for a
// MeshService by the tags and labels that its token binds, and by no others that it writes.
func TestAGuestTakesNoTraffic(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	g.comes("evil", "127.0.0.2", `}`)
	g.comes("good", "127.0.0.3", bound)
	for _, port := range []uint32{g.byTag, g.byLabel} { // who came last is called, so what came before has arrived
		seen := map[string]int{}
		eventually(t, "the guest that may answers", func() bool {
			seen[g.answers(port)]++
			return seen["good"] >= 5 && seen["payments"] >= 5
		})
		if seen["evil"] > 0 || seen[""] > 0 {
			t.Errorf("calls at port %d were answered by %v", port, seen)
		}
	}
	notes := g.want(http.StatusOK, http.MethodGet, "/_problems?mesh=default", "")
	if !strings.Contains(notes, "UnprovenMember") || !strings.Contains(notes, "weft token dataplane --mesh default --name evil --label team=ledger --tag app=payments") {
		t.Errorf("no problem says what the token of the guest lacks: %s", notes)
	}
}

// TestARevokedServerIsNotCalled (103): while others call, a server whose identity is revoked gets no call ten seconds
// later, and no call that did not run at it fails.
func TestARevokedServerIsNotCalled(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	g.comes("old", "127.0.0.2", bound)
	eventually(t, "the server that will be revoked answers", func() bool { return g.answers(g.byTag) == "old" })
	type answer struct {
		at  time.Time
		who string
	}
	var mu sync.Mutex
	var answers []answer
	ctx, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for range 4 {
		calling.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				who := g.answers(g.byTag)
				mu.Lock()
				answers = append(answers, answer{began, who})
				mu.Unlock()
			}
		})
	}
	g.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/revoke", `{"spiffeID":"spiffe://default/old"}`)
	revoked := time.Now()
	eventually(t, "calls were made for 10 s and more", func() bool { return time.Since(revoked) > 13*time.Second })
	stop()
	calling.Wait()
	late, lost, failed, last := 0, 0, 0, time.Duration(0)
	for _, a := range answers {
		switch after := a.at.Sub(revoked); {
		case a.who == "old":
			if last = max(last, after); after > 10*time.Second {
				late++
			}
		case a.who == "":
			if failed++; after > time.Second { // else it may have run at the revoked server
				lost++
			}
		}
	}
	t.Logf("%d calls, %d failed; the last that the revoked server got began %v after", len(answers), failed, last.Round(time.Millisecond))
	if late > 0 || lost > 0 || len(answers) < 100 {
		t.Errorf("of %d calls %d reached the revoked server 10 s after and later, and %d failed that began a second after", len(answers), late, lost)
	}
}
