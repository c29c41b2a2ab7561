package agent_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/certs"
)

// TestFallbackForANameThatCannotBeResolved starts a sidecar in a pod without cluster DNS:
// it finds the control plane by its address, knows it by its name, and says to Envoy the
// same.
func TestFallbackForANameThatCannotBeResolved(t *testing.T) {
	t.Parallel()
	port, _ := workload(t)
	p := newPlane(t, strings.ReplaceAll(bootstrap, "WORKLOAD", port))
	pair := certs.New(t, "control-plane.invalid")
	cert, err := tls.X509KeyPair(pair.Chain, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(p.Config.Handler)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	secure.StartTLS()
	t.Cleanup(secure.Close)

	c := config(fmt.Sprintf("https://control-plane.invalid:%d", portOf(t, secure.URL)))
	c.CA, c.XDSFallback = pair.Chain, "127.0.0.1"
	r := start(t, c)
	eventually(t, "ready", func() bool { return r.ready() == http.StatusOK })
	if body := *p.body.Load(); body["xdsAddress"] != "127.0.0.1" || body["caCert"] != string(pair.Chain) {
		t.Errorf("the control plane was asked for %v", body)
	}

	c.CA = []byte(untrusted(t))
	if err := <-start(t, c).done; err == nil || !strings.Contains(err.Error(), "not the one of") {
		t.Errorf("an impostor at the address: %v", err)
	}
	c.XDSFallback = "control-plane.invalid"
	if err := <-start(t, c).done; err == nil || !strings.Contains(err.Error(), "give an IP address") {
		t.Errorf("a name as the fallback: %v", err)
	}
}
