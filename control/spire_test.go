package control_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/internal/spiretest"
	"github.com/weftmesh/weft/sidecar/agent"
	"github.com/weftmesh/weft/sidecar/attach"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// Two identities: that of a SPIRE for the workload that is labelled so, and one of weft.
const (
	ofSpire = "type: MeshIdentity\nmesh: default\nname: spire\nspec: {selector: {dataplane: {matchLabels: {by: spire}}}, spiffeID: {trustDomain: spire.test, path: '/{{ label \"kuma.io/workload\" }}'}, " +
		"provider: {type: Spire, spire: {agent: {timeout: 100ms}}}}\n---\n"
	ofWeft = "type: MeshIdentity\nmesh: default\nname: weft\nspec: {selector: {}, spiffeID: {trustDomain: weft.test, path: '/{{ label \"kuma.io/workload\" }}'}, " +
		"provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}\n---\n"
	both = "type: MeshTrafficPermission\nmesh: default\nname: both\nspec: {rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://spire.test/web}}, {spiffeID: {type: Exact, value: spiffe://weft.test/payments}}]}}]}\n---\n"
)

// mixed is a mesh of which web has its certificates from a SPIRE, and payments from weft. Both
// take mutual TLS alone.
type mixed struct {
	*plane
	web, pay member
	spire    *spiretest.Authority
	agent    *spiretest.Agent
}

// mix starts the sidecar of payments; that of web is started by the caller.
func mix(t *testing.T, change ...func(*control.Config)) *mixed {
	t.Helper()
	m := &mixed{plane: secure(t, discard(), change...), web: newMember(t, "web-1", "web", "payments"), pay: newMember(t, "pay-1", "payments", "web"), spire: spiretest.New(t, "spire.test")}
	t.Cleanup(m.stop)
	m.agent = m.spire.Agent()
	labelled := func(document, labels string) string {
		return strings.Replace(document, "networking:", "labels: {"+labels+"}\nnetworking:", 1)
	}
	m.want(http.StatusOK, http.MethodPost, "/_apply", both+strictMeshTLS+ofWeft+ofSpire+labelled(m.web.document, "kuma.io/workload: web, by: spire")+labelled(m.pay.document, "kuma.io/workload: payments"))
	m.sidecar("pay-1", m.dataplaneToken("pay-1", ""), discard())
	return m
}

// startWeb runs the sidecar of web beside the Workload API.
func (m *mixed) startWeb() {
	m.t.Helper()
	sidecarOf(m.t, m.XDS(), m.dir, "web-1", m.dataplaneToken("web-1", ""), discard(), func(c *agent.Config) { c.WorkloadAPI = m.agent.Address() })
}

// trust trusts the SPIRE as people do it: by a document.
func (m *mixed) trust() {
	m.t.Helper()
	document := "type: MeshTrust\nmesh: default\nname: ours\nspec:\n  trustDomain: spire.test\n  caBundles:\n"
	for _, root := range m.spire.Roots() {
		document += fmt.Sprintf("  - {type: Pem, pem: {value: %q}}\n", root)
	}
	m.want(http.StatusOK, http.MethodPost, "/_apply", document)
}

// call each other: whoever is called knows by whom.
func (m *mixed) call() {
	m.t.Helper()
	eventually(m.t, "both have certificates", func() bool { return m.Reported("web-1") && m.Reported("pay-1") })
	eventually(m.t, "web is known", func() bool { return m.known(m.web, "spire.test/web") })
	eventually(m.t, "payments is known", func() bool { return m.known(m.pay, "weft.test/payments") })
}

func (m *mixed) known(by member, who string) bool {
	return strings.Contains(requested(m.t.Context(), by.outbound), "URI=spiffe://"+who)
}

// told is what is said of why web has no certificate.
func (m *mixed) told() string {
	m.t.Helper()
	return m.want(http.StatusOK, http.MethodGet, "/_problems", "")
}

// authority is that outside, as the API shows it.
func (m *mixed) authority() mtls.Authority {
	m.t.Helper()
	for _, a := range m.authorities() {
		if a.Of == "MeshIdentity/default/spire" {
			return a
		}
	}
	m.t.Fatal("the authority outside is not shown")
	return mtls.Authority{}
}

// TestSpire: a workload whose certificates come from a SPIRE and one of weft's call each other,
// by the same listeners and clusters; a certificate that the SPIRE pushes is shown at once, one
// of another name never.
func TestSpire(t *testing.T) {
	t.Parallel()
	m := mix(t)
	m.agent.Serve()
	m.agent.Give("spiffe://spire.test/web")
	m.startWeb()
	eventually(t, "it is told that nobody believes the domain", func() bool { return strings.Contains(m.told(), "NoTrust") })
	if m.Reported("web-1") {
		t.Error("its certificate is used")
	}
	if a := m.authority(); !strings.Contains(a.Problem, "apply a MeshTrust") || len(a.Lacking) != 1 || a.Lacking[0] != (mtls.Lacking{Code: "NoTrust", Count: 1}) {
		t.Errorf("unbelieved it is %+v", a)
	}
	m.trust()
	m.call()
	eventually(t, "its certificate is counted", func() bool {
		a := m.authority()
		return a.Provider == "Spire" && a.TrustDomain == "spire.test" && len(a.Roots) == 1 && a.Roots[0].Certificates == 1 && slices.Equal(a.Roots[0].Said, []string{"MeshTrust/default/ours"}) && a.Problem == "" && a.Lacking == nil
	})
	_, first := m.Held("web-1")
	m.agent.RSA()
	m.agent.Give("spiffe://spire.test/web", "spiffe://spire.test/other")
	eventually(t, "the next certificate is shown", func() bool { _, ends := m.Held("web-1"); return ends.After(first) })
	m.call()
	names, ends := m.Held("web-1")
	m.agent.Give("spiffe://spire.test/other")
	eventually(t, "it is told that another is meant", func() bool {
		return strings.Contains(m.told(), "IdentityMismatch") && strings.Contains(m.told(), "it is spiffe://spire.test/web, and its SPIRE says that it is spiffe://spire.test/other")
	})
	if now, still := m.Held("web-1"); !slices.Equal(now, names) || !still.Equal(ends) {
		t.Errorf("now it is %s until %v", now, still)
	}
	m.call()
	m.agent.Give("spiffe://spire.test/web")
	eventually(t, "nothing is wrong any more", func() bool { return !strings.Contains(m.told(), "IdentityMismatch") })
	m.agent.Mute(true)
	m.call()
}

// TestSpireComesLate: a workload is told of that has a SPIRE which is not there, is silent, or
// does not know it; and is certified when it comes.
func TestSpireComesLate(t *testing.T) {
	t.Parallel()
	m := mix(t)
	m.trust()
	m.startWeb()
	eventually(t, "no socket is told of", func() bool { return strings.Contains(m.told(), "NoSVID") && strings.Contains(m.told(), "spire.sock") })
	m.agent.Mute(true)
	m.agent.Serve()
	eventually(t, "silence is told of", func() bool { return strings.Contains(m.told(), "NoSVID") })
	for range 20 { // who has no certificate is not called in plain text, and calls nobody so
		if by, of := requested(t.Context(), m.web.outbound), requested(t.Context(), m.pay.outbound); by != "" || of != "" {
			t.Fatalf("without a certificate %q and %q are answered", by, of)
		}
	}
	m.agent.Mute(false)
	eventually(t, "that it is not registered is told of", func() bool { return strings.Contains(m.told(), "no identity issued") })
	m.agent.Give("spiffe://spire.test/web")
	m.call()
	eventually(t, "nothing is wrong any more", func() bool { return !strings.Contains(m.told(), "NoSVID") })
}

// TestABrokenSpire: while a SPIRE gives what is of no use, fails or restarts, what it gave before is
// shown, those who call each other know each other, and what is wrong is told of the MeshIdentity
// and of the dataplane.
func TestABrokenSpire(t *testing.T) {
	t.Parallel()
	m := mix(t)
	m.trust()
	stop := m.agent.Serve()
	m.agent.Give("spiffe://spire.test/web")
	m.startWeb()
	m.call()
	names, ends := m.Held("web-1")
	for _, wrong := range []struct {
		breaks, mends func()
		code, says    string
	}{
		{m.spire.AddRoot, m.trust, "NoTrust", "no MeshTrust of the trust domain spire.test has the root which signed that"},
		{func() { m.spire.Live(time.Minute, time.Hour/2) }, func() { m.spire.Live(2*time.Hour, 0) }, "NoSVID", "it has ended at "},
	} {
		wrong.breaks()
		m.agent.Give("spiffe://spire.test/web")
		eventually(t, "it is told: "+wrong.says, func() bool { return strings.Contains(m.told(), wrong.code) && strings.Contains(m.told(), wrong.says) })
		m.saysOf("/meshes/default/meshidentities/spire", "Ready", "False/PartiallyReady", wrong.says)
		if text := m.want(http.StatusOK, http.MethodGet, "/meshes/default/_mtls?name=web-1", ""); !strings.Contains(text, wrong.says) {
			t.Errorf("of the dataplane it is told: %s", text)
		}
		m.call()
		if now, still := m.Held("web-1"); !slices.Equal(now, names) || !still.Equal(ends) {
			t.Errorf("now it is %s until %v", now, still)
		}
		wrong.mends()
		m.agent.Give("spiffe://spire.test/web")
		eventually(t, "the next is shown, and nothing is wrong", func() bool {
			_, now := m.Held("web-1")
			return !now.Equal(ends) && !strings.Contains(m.told(), wrong.code)
		})
		_, ends = m.Held("web-1")
	}
	for _, away := range []struct{ breaks, mends func() }{
		{func() { m.agent.Foreign = true; m.agent.Give("spiffe://spire.test/web") }, func() { m.agent.Foreign = false }},
		{func() { m.agent.Fail(true) }, func() { m.agent.Fail(false) }},
		{func() { stop() }, func() { m.agent.Serve() }},
	} {
		away.breaks()
		m.call()
		if now, still := m.Held("web-1"); !slices.Equal(now, names) || !still.Equal(ends) {
			t.Errorf("now it is %s until %v", now, still)
		}
		away.mends()
		m.agent.Give("spiffe://spire.test/web")
		eventually(t, "the next is shown", func() bool { _, now := m.Held("web-1"); return !now.Equal(ends) })
		_, ends = m.Held("web-1")
	}
}

// TestBundlesOfSpire: a control plane with a Workload API of its own tells all sidecars whom the
// trust domain believes, and of another root before anybody shows a certificate of it (F7).
func TestBundlesOfSpire(t *testing.T) {
	t.Parallel()
	spire := spiretest.New(t, "spire.test")
	own := spire.Agent()
	own.Serve()
	own.Give("spiffe://spire.test/weft")
	m := mix(t, func(c *control.Config) { c.WorkloadAPI = own.Address() })
	m.spire, m.agent = spire, spire.Agent()
	m.agent.Serve()
	m.agent.Give("spiffe://spire.test/web")
	m.startWeb()
	m.call()
	_, first := m.Held("web-1")
	spire.AddRoot()
	eventually(t, "both roots are believed", func() bool { return len(m.trusted("spire")) == 2 })
	m.agent.Give("spiffe://spire.test/web")
	eventually(t, "a certificate of the new root is shown", func() bool { _, ends := m.Held("web-1"); return ends.After(first) })
	m.call()
	spire.DropRoot()
	eventually(t, "the first root is believed no more", func() bool { return len(m.trusted("spire")) == 1 })
	m.call()
	if a := m.authority(); len(a.Roots) != 1 || !slices.Equal(a.Roots[0].Said, []string{"the Workload API of the control plane"}) || a.Problem != "" {
		t.Errorf("by its Workload API it is %+v", a)
	}
	own.Mute(true)
	if code, _ := m.plane.call(http.MethodDelete, "/meshes/default/meshtrusts/spire", ""); code == http.StatusOK || len(m.trusted("spire")) != 1 {
		t.Errorf("who is believed can be taken away: %d", code)
	}
}

// TestASpireSpeaksForItsDomainAlone (I5, F1): what the root of a SPIRE has signed for a name of another
// trust domain, or for names of both, counts as nothing, whoever shows it.
func TestASpireSpeaksForItsDomainAlone(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, slog.New(slog.NewTextHandler(&log, nil)))
	defer p.stop()
	m := &mixed{plane: p, spire: spiretest.New(t, "spire.test")}
	p.want(http.StatusOK, http.MethodPost, "/_apply", strictMeshTLS+ofWeft+ofSpire+strings.Replace(memberDocument("pay-1", "payments"), "networking:", "labels: {kuma.io/workload: payments}\nnetworking:", 1))
	m.trust()
	token := p.dataplaneToken("pay-1", "")
	close(p.acknowledges("pay-1", token))
	g := p.agent("pay-1", token)
	show := func(names ...string) {
		t.Helper()
		chain, key := m.spire.Leaf(names...)
		proof, err := signing.Prove(key, "default.pay-1")
		if err != nil {
			t.Fatal(err)
		}
		up := &attach.Certificate{Proof: proof}
		for _, c := range chain {
			up.Chain = append(up.Chain, c.Raw)
		}
		if err := g.Send(&attach.Up{Is: &attach.Up_Certificate{Certificate: up}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, names := range [][]string{{"spiffe://weft.test/payments"}, {"spiffe://spire.test/payments", "spiffe://weft.test/payments"}} {
		was := log.String()
		if len(names) > 1 {
			show("spiffe://spire.test/payments")
			eventually(t, "its own counts", func() bool { held, _ := p.Held("pay-1"); return len(held) == 1 })
		}
		show(names...)
		eventually(t, "it is refused", func() bool { return strings.Contains(strings.TrimPrefix(log.String(), was), "chain does not hold") })
		if held, _ := p.Held("pay-1"); slices.Contains(held, "spiffe://weft.test/payments") {
			t.Errorf("it is %s", held)
		}
	}
}
