package control_test

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/attach"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// envoy is one that acknowledges all that it gets, and remembers the last of each resource.
type envoy struct {
	mu   sync.Mutex
	last map[string]string
	ever []string // kinds, names and what they said
	end  func()
}

func (p *plane) envoy(name, token string) *envoy {
	p.t.Helper()
	stream, end := p.stream(name, token)
	p.t.Cleanup(end)
	for _, kind := range []string{"config.cluster.v3.Cluster", "config.listener.v3.Listener", "config.route.v3.RouteConfiguration", "config.endpoint.v3.ClusterLoadAssignment", "extensions.transport_sockets.tls.v3.Secret"} {
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy." + kind, ResourceNamesSubscribe: []string{"*"}}); err != nil {
			p.t.Fatal(err)
		}
	}
	e := &envoy{last: map[string]string{}, end: end}
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil || stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}) != nil {
				return
			}
			e.mu.Lock()
			for _, x := range r.GetResources() {
				text := string(x.GetResource().GetValue()) // in which texts stand as they are
				e.last[r.GetTypeUrl()+" "+x.GetName()] = text
				e.ever = append(e.ever, r.GetTypeUrl()+" "+x.GetName()+" "+text)
			}
			for _, gone := range r.GetRemovedResources() {
				delete(e.last, r.GetTypeUrl()+" "+gone)
			}
			e.mu.Unlock()
		}
	}()
	return e
}

// has reports whether some resource of a kind says a text.
func (e *envoy) has(kind, text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, x := range e.last {
		if strings.Contains(name, kind) && strings.Contains(x, text) {
			return true
		}
	}
	return false
}

// agent is that of a sidecar, which is attached to a replica: it has its workload certified by
// another whenever that asks it to, and tells which certificate it has; at first those of before.
func (s *secured) agent(p, by *plane, name, token string, before ...signed) {
	s.t.Helper()
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(p.credentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	stream, err := attach.NewSidecarClient(conn).Attach(metadata.AppendToOutgoingContext(s.t.Context(), "authorization", "Bearer "+token))
	if err == nil {
		err = stream.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: "default." + name}}})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	shows := func(c signed) bool {
		proof, err := signing.Prove(c.key, "default."+name)
		if err == nil {
			err = stream.Send(&attach.Up{Is: &attach.Up_Certificate{Certificate: &attach.Certificate{Chain: c.chain, Proof: proof}}})
		}
		return err == nil
	}
	for _, c := range before {
		shows(c)
	}
	go func() {
		for {
			down, err := stream.Recv()
			if err != nil {
				return
			}
			if down.GetCertify() == nil {
				continue
			}
			got, ok := by.asks(token, name)
			if !ok {
				continue // it is asked again
			}
			shows(got)
			_ = stream.Send(&attach.Up{Is: &attach.Up_Connections{Connections: &attach.Connections{
				Inbounds: []*attach.Inbound{{Address: "198.51.100.11_8080", Plain: 1, PlainTotal: 7}}, Senders: []*attach.Sender{{Address: "198.51.100.77", Port: 8080, Connections: 7, Last: time.Now().Unix()}}}}})
		}
	}()
}

// page applies a document of docs/kubernetes.md on mutual TLS.
func (s *secured) page(kind string) {
	s.t.Helper()
	text, err := os.ReadFile("../docs/kubernetes.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Mutual TLS\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range strings.Split(section, "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if d := kubetest.Document(s.t, block); d["kind"] == kind {
			s.Apply(s.t, d, "")
			return
		}
	}
	s.t.Fatalf("the page has no %s", kind)
}

// TestAPIServerReplicasAgreeOnIdentities: what an agent tells one replica and an Envoy another is
// known to both; a permission of the cluster reaches an Envoy; and the replacement of a root,
// asked of the replica that does not lead, is gone on with when the leader is gone.
func TestAPIServerReplicasAgreeOnIdentities(t *testing.T) {
	t.Parallel()
	var later atomic.Int64 // by how much the clock of authorities is ahead
	clock := func(c *control.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		c.RotationSpread = time.Millisecond
	}
	s := newSecured(t)
	a, b := s.start("a", clock), s.start("b", clock)
	web, pay := s.pod("web-1", "web", "web", "198.51.100.11"), s.pod("pay-1", "pay", "pay", "198.51.100.12")
	s.page("Mesh")
	s.agent(a, b, "web-1.shop", web)
	s.agent(b, b, "pay-1.shop", pay)
	ofWeb, ofPay := b.envoy("web-1.shop", web), b.envoy("pay-1.shop", pay) // web's agent is elsewhere
	for name, p := range s.all {
		eventually(t, name+" knows that both take mutual TLS", func() bool { return p.Reported("web-1.shop") && p.Reported("pay-1.shop") })
		eventually(t, name+" knows who calls in plain text", func() bool {
			return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/meshes/default/_mtls", ""), "198.51.100.77")
		})
	}
	s.page("MeshTrafficPermission")
	eventually(t, "the permission is at the Envoy of web", func() bool { return ofWeb.has("RouteConfiguration", "spiffe://default/pay_shop_svc_80") })
	if ofPay.has("RouteConfiguration", "spiffe://default/pay_shop_svc_80") {
		t.Error("it is at another one")
	}

	if text := b.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/rotate", "{}"); !strings.Contains(text, `"phase":"Trusting"`) {
		t.Errorf("begun at a follower: %s", text)
	}
	if code, text := b.call(http.MethodPost, "/meshes/default/_authorities/rotate", "{}"); code != http.StatusConflict {
		t.Errorf("begun twice: %d %s", code, text)
	}
	for name, p := range s.all {
		eventually(t, "both have leaves of the new root as "+name+" knows", func() bool {
			x := p.authorities()[0]
			return x.Phase == "Settling" && len(x.Roots) == 2 && x.Roots[1].Role == mtls.RootSigns && x.Roots[1].Certificates == 2
		})
	}
	next := b.authorities()[0].Signs
	s.stop("a")
	eventually(t, "the second replica leads", b.leads)
	later.Store(int64(40 * time.Hour))
	eventually(t, "the old root is left", func() bool {
		x := b.authorities()[0]
		return x.Phase == "Steady" && x.Signs == next && len(x.Roots) == 1
	})
	eventually(t, "its Secrets are gone", func() bool {
		return s.meshSecrets() == "default.ca-builtin-cert-ca-1.2 default.ca-builtin-key-ca-1.2 default.ca-rotation" && len(s.roots("mtls-default")) == 1
	})
}

// TestAPIServerEnvoysAwaitTheirAgents: where all replicas began anew, and an Envoy comes back before
// its agent, it is not told to call in plain text.
func TestAPIServerEnvoysAwaitTheirAgents(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	a := s.start("a")
	web, pay := s.pod("web-1", "web", "web", "198.51.100.11"), s.pod("pay-1", "pay", "pay", "198.51.100.12")
	s.mutual("default", "STRICT")
	before := a.envoy("web-1.shop", web)
	certificate := a.signs(web, "web-1.shop")
	s.agent(a, a, "web-1.shop", web, certificate)
	calls := func(e *envoy) (secure, plain bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, x := range e.ever {
			if strings.Contains(x, "v3.Cluster pay.shop:80 ") {
				tls := strings.Contains(x, "mesh_ca")
				secure, plain = secure || tls, plain || !tls
			}
		}
		return secure, plain
	}
	eventually(t, "web calls by TLS", func() bool { secure, _ := calls(before); return secure })
	if _, plain := calls(before); !plain {
		t.Fatal("without a certificate its Envoy was not told to call in plain text, so that nothing is shown")
	}
	s.stop("a")

	b := s.begin("b") // which leads later
	after := b.envoy("web-1.shop", web)
	eventually(t, "its Envoy came back", func() bool {
		secure, plain := calls(after)
		return secure || plain || strings.Contains(s.log.String(), "an Envoy waits for its agent")
	})
	s.agent(b, b, "web-1.shop", web, certificate)
	eventually(t, "web calls by TLS", func() bool { secure, _ := calls(after); return secure })
	if _, plain := calls(after); plain {
		t.Error("it called in plain text meanwhile")
	}
	// A workload that is new has nothing to wait for longer.
	s.agent(b, b, "pay-1.shop", pay)
	b.envoy("pay-1.shop", pay)
	eventually(t, "a new one takes mutual TLS", func() bool { return b.Reported("pay-1.shop") })
}
