package xds_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestMirrorsInEnvoy: a copy is sent as often as the document says, to whom it
// says, and one that cannot be sent changes nothing.
func TestMirrorsInEnvoy(t *testing.T) {
	t.Parallel()
	with := func(list ...effective.Mirror) *effective.Table {
		r := rule("r", path(match.SegmentPrefix, "/"))
		r.Mirrors = list
		return table(r)
	}
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(
		with(effective.Mirror{Backend: to("v2", 1), Percent: 100}),
		with(effective.Mirror{Backend: to("v2", 1), Percent: 50}),
		with(effective.Mirror{Backend: to("v2", 1), Percent: 0}, effective.Mirror{Backend: broken(1), Percent: 100}),
	))
	copies := func(world int) int {
		n := 0
		for range 60 {
			a, err := o.Ask(world, envoytest.Question{Method: "GET", Host: "web", Path: "/"})
			if err != nil || a.Status != 200 {
				t.Fatalf("%+v, %v", a, err)
			}
			if world == 0 {
				o.Settle(func() bool { return len(o.Copies(a.ID)) == 1 })
				if list := o.Copies(a.ID); len(list) > 0 && list[0].Authority != "web-shadow" {
					t.Errorf("the copy goes to host %q", list[0].Authority)
				}
			}
			n += len(o.Copies(a.ID))
		}
		return n
	}
	if n := copies(0); n != 60 {
		t.Errorf("%d copies of 60 requests", n)
	}
	if n := copies(2); n != 0 {
		t.Errorf("%d copies that nobody wants", n)
	}
	if n := copies(1); n == 0 || n >= 60 {
		t.Errorf("%d copies, want about half of 60", n)
	}
}

// TestHostsInEnvoy: by which name a backend is called.
func TestHostsInEnvoy(t *testing.T) {
	t.Parallel()
	outside := effective.Backend{Kind: api.KindMeshExternalService, Name: "out", Cluster: "extsvc_out:80", Weight: 1}
	hosts := map[string]string{outside.Cluster: "out.example", "v1": "v1.example"}
	cases := []struct {
		rewrite *route.Rewrite
		backend effective.Backend
		want    string
	}{
		{nil, to("v1", 1), "web"},
		{&route.Rewrite{Hostname: "other.example"}, to("v1", 1), "other.example"},
		{&route.Rewrite{BackendsHost: true}, to("v1", 1), "v1.example"},
		{nil, outside, "out.example"},
		{&route.Rewrite{HostHeader: "x-host"}, to("v1", 1), "given.example"},
		{&route.Rewrite{HostHeader: "x-host", Hostname: "other.example"}, outside, "given.example"},
		{&route.Rewrite{HostHeader: "x-none"}, to("v1", 1), "web"},
		{&route.Rewrite{Hostname: "other.example"}, outside, "other.example"},
	}
	var worlds []envoytest.World
	for _, c := range cases {
		r := rule("r", path(match.SegmentPrefix, "/"))
		if c.rewrite != nil {
			r.Filters = []route.Filter{{Rewrite: c.rewrite}}
		}
		r.Backends = []effective.Backend{c.backend}
		worlds = append(worlds, envoytest.World{Table: table(r), Hosts: hosts})
	}
	o := envoytest.NewOracle(t, all.Kinds, worlds)
	for i, c := range cases {
		a, err := o.Ask(i, envoytest.Question{Method: "GET", Host: "web", Path: "/", Headers: http.Header{"X-Host": {"given.example"}}})
		if err != nil || len(a.Attempts) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		if got := a.Attempts[0].Authority; got != c.want {
			t.Errorf("%+v to %s: called by %q, want %q", c.rewrite, c.backend.Name, got, c.want)
		}
	}
}

// TestTCPSplitInEnvoy: connections are divided by weight, and the share that
// cannot be used is closed.
func TestTCPSplitInEnvoy(t *testing.T) {
	t.Parallel()
	a, b := envoytest.StartBackend(t, "a"), envoytest.StartBackend(t, "b")
	db := &effective.Destination{ID: "db:1", Kind: api.KindMeshService, Name: "db", Port: 1, Protocol: api.TCP}
	split := outbound(t, nil, &effective.TCPTable{
		Destination: db, Origins: []*api.Origin{by("tcp")}, BackendsBy: by("tcp"),
		Backends: []effective.Backend{to("a", 1<<31), to("b", 1<<31), broken(1 << 31)},
	})
	r := sidecar(nil, []effective.ClusterUse{use("a", db, at(a)), use("b", db, at(b))})
	r.Outbounds = []*effective.Outbound{split}
	s := renderer().Render(r)
	if len(s.Notes) != 1 || s.Notes[0].Code != "WeightsScaled" || s.Notes[0].Origin.Name != "tcp" {
		t.Errorf("notes %v, want one about the weights", s.Notes)
	}
	if d := cmp.Diff([]string{"a", "b"}, s.Listeners[0].Clusters); d != "" {
		t.Errorf("clusters that the listener names (-want +got):\n%s", d)
	}
	envoytest.Drive(t, s)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	seen := map[string]bool{}
	for range 60 {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d", split.Port))
		if err != nil {
			seen["closed"] = true
			continue
		}
		seen[resp.Header.Get(envoytest.NameHeader)] = true
		_ = resp.Body.Close()
	}
	if !seen["a"] || !seen["b"] || !seen["closed"] {
		t.Errorf("connections went to %v, want a, b and closed ones", seen)
	}
}

// TestOwnCertificateInEnvoy: the proxy shows the certificate that the document gives.
func TestOwnCertificateInEnvoy(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	material := func(kind string, b []byte) *api.DataSource {
		return &api.DataSource{Inline: base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))}
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	dest := &effective.Destination{ID: "extsvc_out:443", Kind: api.KindMeshExternalService, Name: "out", Port: 443, Protocol: api.HTTP, External: &api.MeshExternalService{
		Endpoints: []api.ExternalEndpoint{{Address: "127.0.0.1", Port: uint32(server.Listener.Addr().(*net.TCPAddr).Port)}},
		TLS: &api.ExternalTLS{Enabled: true, Verification: &api.TLSVerification{
			Mode: "SkipAll", ClientCert: material("CERTIFICATE", der), ClientKey: material("PRIVATE KEY", raw),
		}},
	}}
	self := rest()
	self.Backends = []effective.Backend{{Kind: api.KindMeshExternalService, Name: "out", Cluster: dest.ID, Weight: 1}}
	o := outbound(t, &effective.Table{Destination: dest, Routes: []*effective.Route{self}}, nil)
	r := sidecar(nil, []effective.ClusterUse{{Cluster: &effective.Cluster{Name: dest.ID, Destination: dest}}})
	r.Outbounds = []*effective.Outbound{o}
	envoytest.Drive(t, renderer().Render(r))
	if status := get(t, o.Port, "out", nil).StatusCode; status != 200 {
		t.Errorf("status %d", status)
	}
}

// TestAListenerNamesItsClusters: each once, and alike in whichever order documents name them, for a listener
// that names others than before has connections to drain.
func TestAListenerNamesItsClusters(t *testing.T) {
	t.Parallel()
	for _, backends := range [][]effective.Backend{{to("b", 1), to("a", 1), to("b", 2)}, {to("a", 1), to("b", 3)}} {
		r := sidecar(nil, []effective.ClusterUse{use("a", web()), use("b", web())})
		r.Outbounds = []*effective.Outbound{outbound(t, nil, &effective.TCPTable{Destination: web(), BackendsBy: by("tcp"), Origins: []*api.Origin{by("tcp")}, Backends: backends})}
		if d := cmp.Diff([]string{"a", "b"}, renderer().Render(r).Listeners[0].Clusters); d != "" {
			t.Errorf("of %d backends (-want +got):\n%s", len(backends), d)
		}
	}
}
