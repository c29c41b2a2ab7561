package control_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/authority"
)

// accountOfPlanes makes the service account of control planes, and writes a token of it for
// an audience to a file.
func accountOfPlanes(t *testing.T, c *kubetest.Cluster, audience string) string {
	t.Helper()
	const accounts = "/api/v1/namespaces/weft-system/serviceaccounts"
	if status, _ := c.Send(t, http.MethodGet, accounts+"/weft-control-plane", nil); status == http.StatusNotFound {
		create(t, c, accounts, `metadata: {name: weft-control-plane}`)
	}
	return tokenOf(t, c, "weft-system", "weft-control-plane", audience)
}

// tokenOf writes a token of a service account to a file.
func tokenOf(t *testing.T, c *kubetest.Cluster, namespace, account, audience string) string {
	t.Helper()
	code, got := c.Send(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		map[string]any{"spec": map[string]any{"audiences": []any{audience}, "expirationSeconds": 3600}})
	if code != http.StatusCreated {
		t.Fatalf("a token for %s: %d %v", audience, code, got["message"])
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(got["status"].(map[string]any)["token"].(string)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// peered is the configuration of a replica that knows its peers.
func peered(t *testing.T, c *kubetest.Cluster, name string) control.Config {
	t.Helper()
	cfg := replicated(t, c, name)
	cfg.XDSPlaintext, cfg.PeerToken = false, accountOfPlanes(t, c, "weft-peer")
	cfg.DialPeer = func(ctx context.Context, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
	}
	return cfg
}

// trust makes clients of a replica trust the authority of its cluster.
func (p *plane) trust(c *kubetest.Cluster) *plane {
	p.t.Helper()
	data := map[string][]byte{}
	_, secret := c.Send(p.t, http.MethodGet, secretOfRoots, nil)
	for name, v := range at(secret, "data").(map[string]any) {
		data[name], _ = base64.StdEncoding.DecodeString(v.(string))
	}
	b, err := authority.ParseBundle(data)
	if err != nil {
		p.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.PEM())
	p.trusts = &tls.Config{RootCAs: pool, ServerName: "localhost"}
	return p
}

// endpoint says in an EndpointSlice of its own, for they differ in their ports, that a replica
// is there: no slice may name the loopback addresses where peered has it.
func endpoint(t *testing.T, c *kubetest.Cluster, name, address string) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, "/apis/discovery.k8s.io/v1/namespaces/weft-system/endpointslices", fmt.Sprintf(`
metadata: {name: peer-%[1]s, labels: {kubernetes.io/service-name: weft-control-plane-peers}}
addressType: IPv4
ports: [{name: grpc-xds, port: %[2]s, protocol: TCP}]
endpoints: [{addresses: [198.51.100.200], conditions: {ready: true, serving: true}, targetRef: {kind: Pod, name: %[1]s, namespace: weft-system}}]`, name, port))
}

// injected is a pod with a sidecar that runs.
func injected(t *testing.T, c *kubetest.Cluster, name, address string) {
	t.Helper()
	p := create(t, c, "/api/v1/namespaces/shop/pods", `
metadata: {name: `+name+`, labels: {app: web}, annotations: {kuma.io/sidecar-injected: "true"}}
spec: {containers: [{name: web, image: web, ports: [{containerPort: 8080}]}, {name: weft-sidecar, image: weft, env: [{name: WEFT_MESH, value: default}]}]}`)
	p["status"] = kubetest.Document(t, `
phase: Running
podIP: `+address+`
podIPs: [{ip: `+address+`}]
conditions: [{type: Ready, status: "True"}]
containerStatuses: [{name: web, ready: true, restartCount: 0, image: web, imageID: web}, {name: weft-sidecar, ready: true, restartCount: 0, image: weft, imageID: weft}]`)
	if status, got := c.Send(t, http.MethodPut, "/api/v1/namespaces/shop/pods/"+name+"/status", p); status != http.StatusOK {
		t.Fatalf("the status of the pod: %d %v", status, got["message"])
	}
}

// inSync is how many sidecars a replica says are in sync, and what it notes.
func (p *plane) inSync() (int, string) {
	p.t.Helper()
	var o struct {
		Sidecars struct{ InSync int }
		Notes    []struct{ Code, Message string }
	}
	_, text := p.call(http.MethodGet, "/meshes/default/_status", "")
	_ = json.Unmarshal([]byte(text), &o)
	return o.Sidecars.InSync, fmt.Sprint(o.Notes)
}

// TestAPIServerReplicasKnowOfEachOther: statuses count the sidecars of all replicas, each
// answers for all of them, and a replica that goes takes its own with it.
func TestAPIServerReplicasKnowOfEachOther(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	injected(t, c, "web-2", "198.51.100.10")
	a := start(t, peered(t, c, "a")).trust(c)
	endpoint(t, c, "a", a.XDS())
	b := start(t, peered(t, c, "b")).trust(c)
	endpoint(t, c, "b", b.XDS())
	eventually(t, "the first replica leads", a.leads)
	a.follows("web-1.shop")
	b.follows("web-2.shop")
	for name, p := range map[string]*plane{"a": a, "b": b} {
		eventually(t, name+" knows of both sidecars", func() bool { n, notes := p.inSync(); return n == 2 && notes == "[]" })
	}
	events := a.heard("shop/web-2")
	eventually(t, "what happens there is heard of elsewhere", func() bool {
		_, end := b.stream("web-2.shop", "") // until it is known there that somebody listens
		end()
		return strings.Contains(events(), `"type":"connect"`) && strings.Contains(events(), `"replica":"b"`)
	})

	const slow = shop + "meshtimeouts/slow"
	create(t, c, shop+"meshtimeouts", `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	var s told
	eventually(t, "the status counts both", func() bool { statusAt(t, c, slow, &s); return s.Dataplanes.Total == 2 && s.Dataplanes.Applied == 2 })
	if s.is("Programmed") != "True Programmed" {
		t.Errorf("%+v", s)
	}
	eventually(t, "its acknowledgement is heard of elsewhere", func() bool { return strings.Contains(events(), `"type":"ack"`) })
	if text := a.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/web-2.shop/_overview", ""); !strings.Contains(text, `"controlPlaneInstanceId":"b"`) {
		t.Errorf("the insight of a sidecar elsewhere: %s", text)
	}
	b.stop()
	eventually(t, "its sidecar is gone with it", func() bool { n, _ := a.inSync(); return n == 1 })
	eventually(t, "and it is missed", func() bool { _, notes := a.inSync(); return strings.Contains(notes, "SilentReplica the replica b at") })
	remove(t, c, "/apis/discovery.k8s.io/v1/namespaces/weft-system/endpointslices/peer-b")
	eventually(t, "until nobody expects it", func() bool { _, notes := a.inSync(); return notes == "[]" })
	a.follows("web-2.shop")
	eventually(t, "its sidecar is counted where it is now", func() bool { statusAt(t, c, slow, &s); return s.Dataplanes.Applied == 2 })
}

// heard collects the events of a dataplane that a replica tells of.
func (p *plane) heard(dataplane string) func() string {
	p.t.Helper()
	resp, err := http.Get("http://" + p.API() + "/_events")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	var all lines
	go func() {
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if strings.Contains(s.Text(), dataplane) {
				_, _ = all.Write([]byte(s.Text() + "\n"))
			}
		}
	}()
	return all.String
}

// TestAPIServerQuestionsGoToTheReplicaOfTheSidecar: what only an Envoy knows is asked at any
// replica, of the one that has the stream of its agent; and what it was sent where it has
// none.
func TestAPIServerQuestionsGoToTheReplicaOfTheSidecar(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	a, b := start(t, peered(t, c, "a")).trust(c), start(t, peered(t, c, "b")).trust(c)
	endpoint(t, c, "a", a.XDS())
	endpoint(t, c, "b", b.XDS())
	b.follows("web-1.shop")
	eventually(t, "what it was sent is told elsewhere", func() bool {
		code, text := a.call(http.MethodGet, pod+"/xds", "")
		return code == http.StatusOK && strings.Contains(text, `"sent"`) && strings.Contains(text, "dynamic_active_clusters")
	})
	a.want(http.StatusServiceUnavailable, http.MethodGet, pod+"/stats", "")
	b.answers("default.web-1.shop", "cluster.x: 1\n")
	eventually(t, "its agent answers elsewhere", func() bool {
		code, text := a.call(http.MethodGet, pod+"/stats", "")
		return code == http.StatusOK && text == "cluster.x: 1\n"
	})
	if text := a.want(http.StatusBadGateway, http.MethodGet, pod+"/clusters", ""); !strings.Contains(text, "the sidecar says: no") {
		t.Errorf("a question that is refused elsewhere: %s", text)
	}
}

// answers is the agent of a sidecar, which answers stats and nothing else.
func (p *plane) answers(node, stats string) {
	p.t.Helper()
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(p.credentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	g, err := attach.NewSidecarClient(conn).Attach(p.t.Context())
	if err == nil {
		err = g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: node, Names: true}}})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	go func() {
		for {
			down, err := g.Recv()
			if err != nil {
				return
			}
			q := down.GetAsk()
			if q == nil {
				continue
			}
			answer := &attach.Answer{Id: q.GetId(), End: true, Chunk: []byte(stats)}
			if q.GetPath() != attach.Stats {
				answer = &attach.Answer{Id: q.GetId(), Error: "no"}
			}
			_ = g.Send(&attach.Up{Is: &attach.Up_Answer{Answer: answer}})
		}
	}()
}

// TestAPIServerPeersAreControlPlanesAlone: nobody else hears which sidecars a replica has, or
// asks their Envoys by it.
func TestAPIServerPeersAreControlPlanesAlone(t *testing.T) {
	t.Parallel()
	c := defined(t)
	a := start(t, peered(t, c, "a")).trust(c)
	create(t, c, "/api/v1/namespaces/weft-system/serviceaccounts", `metadata: {name: other}`)
	conn, err := grpc.NewClient(a.XDS(), grpc.WithTransportCredentials(credentials.NewTLS(a.trusts)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, x := range map[string]struct {
		file string
		want codes.Code
	}{
		"a control plane":                  {accountOfPlanes(t, c, "weft-peer"), codes.OK},
		"its token for the API server":     {accountOfPlanes(t, c, "https://kubernetes.default.svc"), codes.Unauthenticated},
		"another account of the namespace": {tokenOf(t, c, "weft-system", "other", "weft-peer"), codes.PermissionDenied},
		"nobody":                           {os.DevNull, codes.Unauthenticated},
	} {
		token, err := os.ReadFile(x.file)
		if err != nil {
			t.Fatal(err)
		}
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+string(token))
		g, err := peers.NewPeersClient(conn).Follow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = g.Send(&peers.Interest{Replica: "b"})
		if _, err := g.Recv(); status.Code(err) != x.want {
			t.Errorf("%s follows: %v, want %s", name, err, x.want)
		}
		q, err := peers.NewPeersClient(conn).Ask(ctx, &peers.Question{Dataplane: &peers.Dataplane{Mesh: "default", Name: "web-1", Namespace: "shop"}})
		if err != nil {
			t.Fatal(err)
		}
		want := x.want
		if want == codes.OK {
			want = codes.FailedPrecondition // there is no such stream
		}
		if _, err := q.Recv(); status.Code(err) != want {
			t.Errorf("%s asks: %v, want %s", name, err, want)
		}
	}
}
