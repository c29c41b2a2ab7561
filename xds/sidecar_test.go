package xds_test

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/resource"
)

// outbound is a listener at a free port for table.
func outbound(t *testing.T, tab *effective.Table, tcp *effective.TCPTable) *effective.Outbound {
	o := &effective.Outbound{Address: "127.0.0.1", Port: envoytest.Port(t), Table: tab, TCP: tcp}
	if tab != nil {
		o.Destination = tab.Destination
	} else {
		o.Destination = tcp.Destination
	}
	return o
}

func get(t *testing.T, port uint32, host string, header http.Header) *http.Response {
	t.Helper()
	q, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header, q.Host = header, host
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestSidecarInEnvoy drives a whole sidecar: a request leaves by an outbound
// listener, crosses to an inbound one by HTTP/2, and reaches the workload by
// HTTP/1.1; bytes go the same way.
func TestSidecarInEnvoy(t *testing.T) {
	t.Parallel()
	app := envoytest.StartBackend(t, "app")
	db := &effective.Destination{ID: "db:5432", Kind: api.KindMeshService, Name: "db", Port: 5432, Protocol: api.TCP}
	in := func(p api.Protocol) *effective.Inbound {
		return &effective.Inbound{
			Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: app.Host, ServicePort: app.Port,
			Protocol: p, Tags: map[string]string{api.TagService: "web", "version": "1"}, Ready: true,
		}
	}
	web8080, web5432 := in(api.HTTP), in(api.TCP)
	at := func(i *effective.Inbound) effective.Endpoint {
		return effective.Endpoint{Address: i.Address, Port: i.Port, Tags: i.Tags, Zone: "z"}
	}
	hop := use("web:8080", web(), at(web8080))
	hop.Cluster.HTTP2 = true
	r := sidecar(nil, []effective.ClusterUse{hop, use("db:5432", db, at(web5432))}, web8080, web5432)
	http1 := outbound(t, table(), nil)
	bytes := outbound(t, nil, &effective.TCPTable{Destination: db, Backends: []effective.Backend{to("db:5432", 1)}})
	dead := outbound(t, nil, &effective.TCPTable{Destination: db, Backends: []effective.Backend{broken(1)}})
	r.Outbounds = []*effective.Outbound{http1, bytes, dead}
	state := renderer().Render(r)
	if len(state.Notes) > 0 {
		t.Errorf("notes on what is good: %v", state.Notes)
	}
	envoy := envoytest.Drive(t, state)

	resp := get(t, http1.Port, "web", http.Header{envoytest.IDHeader: {"1"}, "X-Kuma-Tags": {"a"}, "X-Forwarded-Client-Cert": {"forged"}})
	if resp.StatusCode != 200 {
		t.Fatalf("status %d: %s", resp.StatusCode, envoy.Log())
	}
	seen := app.Seen("1")
	if len(seen) != 1 || seen[0].Proto != "HTTP/1.1" || seen[0].Headers.Get("X-Kuma-Tags") != "" || seen[0].Headers.Get("X-Forwarded-Client-Cert") != "" {
		t.Errorf("the workload got %+v", seen)
	}
	if n := envoy.Stats("cluster.web_8080.upstream_cx_http2_total")["cluster.web_8080.upstream_cx_http2_total"]; n != 1 {
		t.Errorf("%d HTTP/2 connections between sidecars, want 1", n)
	}
	if resp := get(t, bytes.Port, "db", http.Header{envoytest.IDHeader: {"2"}}); resp.StatusCode != 200 || len(app.Seen("2")) != 1 {
		t.Errorf("bytes: status %d", resp.StatusCode)
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", dead.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := bufio.NewReader(conn).ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("a connection that nobody takes: %v, want it closed", err)
	}
}

// TestInboundPoliciesInEnvoy: a limit on an inbound holds at the listener of
// the workload, for requests and for connections.
func TestInboundPoliciesInEnvoy(t *testing.T) {
	t.Parallel()
	app := envoytest.StartBackend(t, "app")
	two, hour := uint32(2), api.Duration(time.Hour)
	rate := &ratelimit.Rate{Num: &two, Interval: &hour}
	limit := fold(t, ratelimit.Kind, &ratelimit.Conf{Local: &ratelimit.Local{
		HTTP: &ratelimit.HTTP{RequestRate: rate}, TCP: &ratelimit.TCP{ConnectionRate: rate},
	}})
	in := func(p api.Protocol) *effective.Inbound {
		return &effective.Inbound{
			Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: app.Host, ServicePort: app.Port,
			Protocol: p, Policies: effective.Policies{limit},
		}
	}
	requests := in(api.HTTP)
	requests.Policies = effective.Policies{fold(t, ratelimit.Kind, &ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{RequestRate: rate}}})}
	connections := in(api.TCP)
	envoytest.Drive(t, renderer().Render(sidecar(nil, nil, requests, connections)))
	var got []int
	for range 3 {
		got = append(got, get(t, requests.Port, "web", nil).StatusCode)
	}
	if d := cmp.Diff([]int{200, 200, 429}, got); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	open := 0
	for range 3 {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", connections.Port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: web\r\n\r\n")
		if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d connections answered, want 2 of 3", open)
	}
}

// TestExternalServiceInEnvoy: a destination outside the mesh is called by the
// name that it has there, over TLS that is checked.
func TestExternalServiceInEnvoy(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.Proto)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one client is to refuse its certificate
	server.StartTLS()
	t.Cleanup(server.Close)
	port := uint32(server.Listener.Addr().(*net.TCPAddr).Port)
	ca := &api.DataSource{InlineString: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))}
	call := func(address string, v *api.TLSVerification) (int, string) {
		dest := &effective.Destination{ID: "extsvc_out:443", Kind: api.KindMeshExternalService, Name: "out", Port: 443, Protocol: api.HTTP,
			External: &api.MeshExternalService{
				Endpoints: []api.ExternalEndpoint{{Address: address, Port: port}},
				TLS:       &api.ExternalTLS{Enabled: true, Verification: v},
			}}
		self := rest()
		self.Backends = []effective.Backend{{Kind: api.KindMeshExternalService, Name: "out", Cluster: dest.ID, Weight: 1}}
		o := outbound(t, &effective.Table{Destination: dest, Routes: []*effective.Route{self}}, nil)
		r := sidecar(nil, []effective.ClusterUse{{Cluster: &effective.Cluster{Name: dest.ID, Destination: dest}}})
		r.Outbounds = []*effective.Outbound{o}
		envoytest.Drive(t, renderer().Render(r))
		resp := get(t, o.Port, "in-the-mesh", nil)
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := call("localhost", &api.TLSVerification{CACert: ca, ServerName: "example.com"}); status != 200 || body != "localhost HTTP/1.1" {
		t.Errorf("by name: %d %q", status, body)
	}
	if status, body := call("127.0.0.1", &api.TLSVerification{CACert: ca, ServerName: "example.com"}); status != 200 || body != "in-the-mesh HTTP/1.1" {
		t.Errorf("by address: %d %q", status, body)
	}
	if status, _ := call("127.0.0.1", &api.TLSVerification{CACert: ca, ServerName: "example.net"}); status != 503 {
		t.Errorf("a certificate for another name: status %d, want 503", status)
	}
	if status, _ := call("localhost", &api.TLSVerification{Mode: "SkipAll"}); status != 200 {
		t.Errorf("without any check: status %d", status)
	}
}

// TestBootstrapInEnvoy: what weft writes for a sidecar is what Envoy starts with.
func TestBootstrapInEnvoy(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	plain, secure := config(), config()
	secure.CA, secure.Token, secure.XDSHost, secure.Metadata = ca, "t", "weft.example", map[string]any{"version": "1"}
	socket := config()
	socket.AdminSocket, socket.StateOfTheWorld = envoytest.Socket(t), true
	for i, c := range []render.Config{plain, secure, socket} {
		b, err := render.Bootstrap(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := envoytest.Validate(t, b); err != nil {
			t.Errorf("bootstrap %d: %v", i, err)
		}
	}
}

// TestSecondListenerAtOneAddress: Envoy refuses it, so it is left out with a note.
func TestSecondListenerAtOneAddress(t *testing.T) {
	t.Parallel()
	i := &effective.Inbound{Address: "127.0.0.1", Port: 10001, ServiceAddress: "127.0.0.1", ServicePort: 80, Protocol: api.TCP}
	s := renderer().Render(sidecar([]*effective.Table{table()}, nil, i))
	if d := cmp.Diff([]string{"outbound:127.0.0.1:10001"}, names(s.Listeners)); d != "" {
		t.Errorf("listeners (-want +got):\n%s", d)
	}
	if !slices.ContainsFunc(s.Notes, func(n api.Note) bool { return n.Code == "Rejected" && n.Origin.Name == "dp-1" }) {
		t.Errorf("no note on the dataplane: %v", s.Notes)
	}
}

// TestNoListenerFollowsARoute: what changes a route or a cluster changes no
// byte of a listener (spec/kuma.md 6).
func TestNoListenerFollowsARoute(t *testing.T) {
	t.Parallel()
	hour, day := api.Duration(time.Hour), api.Duration(24*time.Hour)
	render := func(d *api.Duration) *resource.State {
		e := fold(t, timeout.Kind, &timeout.Conf{ConnectionTimeout: d, IdleTimeout: d, HTTP: &timeout.HTTP{RequestTimeout: d, MaxStreamDuration: d}})
		tab := table()
		tab.Routes[0].Policies = effective.Policies{e}
		u := use("web:8080", web())
		u.Cluster.Policies = effective.Policies{e}
		r := sidecar([]*effective.Table{tab}, []effective.ClusterUse{u})
		r.Outbounds[0].Policies = effective.Policies{e}
		return renderer().Render(r)
	}
	a, b := render(&hour), render(&day)
	if a.Listeners[0].Version != b.Listeners[0].Version {
		t.Error("the listener changed with its routes")
	}
	if a.Routes[0].Version == b.Routes[0].Version || a.Clusters[0].Version == b.Clusters[0].Version {
		t.Error("the route or the cluster did not change")
	}
}

// TestTLSModesInEnvoy: every way to check a server's certificate that a
// MeshExternalService may ask for is one that Envoy takes.
func TestTLSModesInEnvoy(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	ca := &api.DataSource{InlineString: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))}
	text, err := render.Bootstrap(config())
	if err != nil {
		t.Fatal(err)
	}
	b := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(text, b); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, mode := range []string{"", "Secured", "SkipSAN", "SkipCA", "SkipAll"} {
		for _, authority := range []*api.DataSource{nil, ca} {
			for _, address := range []string{"out.example", "192.0.2.1"} {
				v := &api.TLSVerification{Mode: mode, CACert: authority, SubjectAltNames: []api.SANMatch{{Type: "Exact", Value: "a"}, {Type: "Prefix", Value: "b"}}}
				dest := &effective.Destination{ID: fmt.Sprintf("extsvc_%d:443", n), Protocol: api.HTTP2, External: &api.MeshExternalService{
					Endpoints: []api.ExternalEndpoint{{Address: address, Port: 443, Priority: 7}, {Address: "unix:///run/out.sock"}, {Address: "192.0.2.2", Port: 1, Priority: 9}},
					TLS:       &api.ExternalTLS{Enabled: true, Verification: v, AllowRenegotiation: true, Version: &api.TLSVersion{Min: "TLS12", Max: "TLSAuto"}},
				}}
				n++
				cluster, notes := clusters.Render(&effective.Cluster{Name: dest.ID, Destination: dest}, nil)
				if cluster == nil {
					t.Fatalf("%q: %v", mode, notes)
				}
				b.StaticResources.Clusters = append(b.StaticResources.Clusters, envoytest.Open(t, cluster, &clusterv3.Cluster{}))
			}
		}
	}
	if err := envoytest.Validate(t, envoytest.JSON(t, b)); err != nil {
		t.Error(err)
	}
}
