package control_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
)

// problemsSay waits until the problems have all of some words.
func (p *plane) problemsSay(what string, words ...string) {
	p.t.Helper()
	text := ""
	eventually(p.t, what, func() bool {
		text = p.want(http.StatusOK, http.MethodGet, "/_problems", "")
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// TestASidecarThatIsGoneIsAProblem until it is back, or its dataplane goes; one that never came is none.
func TestASidecarThatIsGoneIsAProblem(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	end := p.connect("backend-1")
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, "NotConnected") {
		t.Fatalf("while it is there, and another never was: %s", text)
	}
	end()
	p.problemsSay("it is told", `"NotConnected"`, `"dataplanes":["backend-1"]`, "is not connected, since 2")
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, "frontend-1") {
		t.Errorf("one that never came is told: %s", text)
	}
	again := p.connect("backend-1")
	eventually(t, "it is back", func() bool {
		return !strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), "NotConnected")
	})
	again()
	p.problemsSay("it is told again", `"NotConnected"`)
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/dataplanes/backend-1", "")
	eventually(t, "nothing is told of what is gone for good", func() bool {
		return !strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), "NotConnected")
	})
}

// TestASidecarThatIsNotLetInIsAProblem, with the reason and what to do: by a token that has ended, whoever
// there is, and by any other fault where the dataplane is there and nobody else has come. Who says that it
// is somebody whom nobody knows, or who is connected, is told of in the log alone.
func TestASidecarThatIsNotLetInIsAProblem(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.DataplaneAuth = "token"
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	refused := func(name, token string) {
		t.Helper()
		stream, end := p.stream(name, token)
		defer end()
		if _, err := stream.Recv(); err == nil {
			t.Fatalf("%s is let in by %q", name, token)
		}
	}
	ended := p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"name":"guest-7","validFor":"1s"}`)
	good := p.dataplaneToken("backend-1", "")
	stream, end := p.stream("backend-1", good)
	defer end()
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	refused("nobody", "nonsense")
	refused("backend-1", "nonsense")
	refused("frontend-1", "nonsense")
	eventually(t, "the token ends", func() bool {
		code, _ := p.ask(http.DefaultClient, "http://"+p.XDS(), ended, map[string]any{"mesh": "default", "name": "guest-7"})
		return code == http.StatusUnauthorized
	})
	p.problemsSay("it is told", `"RefusedStream"`, "Dataplane/default/frontend-1", "the dataplane token is not good: token is malformed",
		"Dataplane/default/guest-7", "token is expired", "`weft token dataplane --mesh default --name guest-7`")
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, "nobody") || strings.Contains(text, "Dataplane/default/backend-1") {
		t.Errorf("what anybody may say is told: %s", text)
	}
	in, leave := p.stream("frontend-1", p.dataplaneToken("frontend-1", ""))
	defer leave()
	if _, err := in.Recv(); err != nil {
		t.Fatal(err)
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, "Dataplane/default/frontend-1") {
		t.Errorf("it is let in, and told of: %s", text)
	}
}

// TestACertificateThatHasEndedIsAProblem of its Secret.
func TestACertificateThatHasEndedIsAProblem(t *testing.T) {
	t.Parallel()
	pair := certs.New(t, "shop.example.org")
	later := 0 * time.Second
	c := config(t)
	c.Now = func() time.Time { return time.Now().Add(later) }
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata: {name: web, namespace: shop}\ndata: {tls.crt: %s, tls.key: %s}\n",
		base64.StdEncoding.EncodeToString(pair.Chain), base64.StdEncoding.EncodeToString(pair.Key))
	for after, want := range map[time.Duration]string{0: "", 21 * time.Hour: "its certificate ends at ", 25 * time.Hour: "its certificate has ended at "} {
		later = after
		p := start(t, c)
		p.want(http.StatusOK, http.MethodPost, "/_apply", secret)
		text := p.want(http.StatusOK, http.MethodGet, "/_problems", "")
		if strings.Contains(text, `"Expired"`) != (want != "") || !strings.Contains(text, want) || want != "" && !strings.Contains(text, "Secret/default/shop/web") {
			t.Errorf("after %v: %s", after, text)
		}
		if key := base64.StdEncoding.EncodeToString(pair.Key); strings.Contains(text, key) {
			t.Error("the key is told")
		}
		p.stop()
	}
}

// TestAnEndedCertificateOfAWorkloadIsAProblem: a sidecar that is connected and renews nothing is told of when its
// certificate has ended, with the reason where there is one, until it has another.
func TestAnEndedCertificateOfAWorkloadIsAProblem(t *testing.T) {
	t.Parallel()
	var clock hands
	p := secure(t, discard(), func(c *control.Config) { c.Now = clock.now })
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", calling("web-1", "web", "payments")+calling("pay-1", "payments", "web")+fmt.Sprintf(mutual, "ca-1", leavesOf("60m")))
	web, pay := p.timed("web-1", clock.now), p.timed("pay-1", clock.now)
	eventually(t, "they meet", func() bool { return meetAll(web, pay) == nil })
	p.settled(web, pay)
	web.frozen.Store(true)
	clock.forward(50 * time.Minute) // the last are due after two thirds and a bit
	eventually(t, "the other one is renewed", func() bool { return pay.left() > 20*time.Minute })
	p.settled(web, pay)
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, `"Expired"`) {
		t.Errorf("before it has ended: %s", text)
	}
	clock.forward(15 * time.Minute)
	eventually(t, "it is told", func() bool {
		p.SweepCertificates()
		text := p.want(http.StatusOK, http.MethodGet, "/_problems", "")
		return strings.Contains(text, `"Expired"`) && strings.Contains(text, "Dataplane/default/web-1") && strings.Contains(text, "its certificate has ended at ") && !strings.Contains(text, "Dataplane/default/pay-1")
	})
	web.frozen.Store(false)
	eventually(t, "it has another one", func() bool {
		return !strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), `"Expired"`)
	})
}

// TestAFailedStoreIsDegraded: sidecars keep a control plane whose store takes no writes; problems, status,
// metric and readiness say so with one voice.
func TestAFailedStoreIsDegraded(t *testing.T) {
	t.Parallel()
	failing := &storetest.Refusing{}
	p := serving(t, config(t), discard(), func(p *control.Plane) {
		p.Beneath(func(s store.Store) store.Store { failing.Store = s; return failing })
	})
	eventually(t, "it is ready", func() bool {
		code, _ := p.call(http.MethodGet, "/readyz", "")
		return code == http.StatusOK
	})
	agree := func(fails bool) {
		t.Helper()
		for _, c := range []struct{ path, says string }{
			{"/_problems", `"StoreFailed"`}, {"/meshes/default/_status", `"StoreFailed"`}, {"/readyz", "degraded: "}, {"/metrics", "weft_store_healthy 0"},
		} {
			if text := p.want(http.StatusOK, http.MethodGet, c.path, ""); strings.Contains(text, c.says) != fails {
				t.Errorf("%s while it fails is %v: %.400s", c.path, fails, text)
			}
		}
		want := http.StatusOK
		if fails {
			want = http.StatusServiceUnavailable
		}
		p.want(want, http.MethodGet, "/readyz?for=writes", "")
		p.want(http.StatusBadRequest, http.MethodGet, "/readyz?for=nothing", "")
	}
	agree(false)
	failing.Refuses.Store(true)
	agree(true)
	failing.Refuses.Store(false)
	agree(false)
}
