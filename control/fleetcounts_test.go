package control_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// fickle is a client that takes or refuses what it is sent of its listeners, as it is told.
type fickle struct {
	refuses atomic.Bool
	cut     func()
}

// connectFickle opens a stream of state of all listeners, clusters, routes and endpoints.
func (p *plane) connectFickle(conn *grpc.ClientConn, node string, refuses bool) *fickle {
	p.t.Helper()
	ctx, cut := context.WithCancel(context.Background())
	p.t.Cleanup(cut)
	f := &fickle{cut: cut}
	f.refuses.Store(refuses)
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	const of = "type.googleapis.com/envoy.config."
	for i, kind := range []string{"cluster.v3.Cluster", "endpoint.v3.ClusterLoadAssignment", "listener.v3.Listener", "route.v3.RouteConfiguration"} {
		ask := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: of + kind}
		if i%2 == 1 {
			ask.ResourceNamesSubscribe = []string{"*"}
		}
		if i == 0 {
			ask.Node = &corev3.Node{Id: node, UserAgentName: "envoy", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "1.40." + node[len(node)-1:]}}
		}
		if err := stream.Send(ask); err != nil {
			p.t.Fatal(err)
		}
	}
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			says := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce}
			if f.refuses.Load() && len(r.Resources) > 0 {
				says.ErrorDetail = &rpc.Status{Message: "not " + r.Resources[0].Name}
			}
			if stream.Send(says) != nil {
				return
			}
		}
	}()
	return f
}

// TestCensusIsWhatIsCountedAnew: after whatever happens to dataplanes and their sidecars, what is
// kept of all of them is what looking at each would find.
func TestCensusIsWhatIsCountedAnew(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	draw := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[draw.IntN(len(from))] }
	asking, asked := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // somebody asks in the midst of everything
		defer close(done)
		for asking.Err() == nil {
			_ = p.CensusDiffers("default")
		}
	}()
	defer func() { asked(); <-done }()
	clients, history := map[string]*fickle{}, ""
	for step := range 120 {
		name := fmt.Sprintf("dp-%d", draw.IntN(6))
		at, what := "/meshes/default/dataplanes/"+name, ""
		switch draw.IntN(8) {
		case 0, 1:
			what = fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":%q,"networking":{"address":"127.0.0.%s","inbound":[{"port":80,"state":%q,"tags":{"kuma.io/service":%q,"kuma.io/zone":%q}},{"port":81,"tags":{"kuma.io/service":%q}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"a"}}]}}`,
				name, pick("1", "2"), pick("Ready", "NotReady"), pick("a", "b", "c"), pick("", "east", "west"), pick("a", "b"))
			p.call(http.MethodPut, at, what)
		case 2:
			what = "delete " + name
			p.call(http.MethodDelete, at, "")
		case 3, 4:
			if f := clients[name]; f == nil {
				refuses := draw.IntN(3) == 0
				clients[name], what = p.connectFickle(conn, "default."+name, refuses), fmt.Sprintf("%s connects, refuses: %v", name, refuses)
			} else {
				f.cut()
				delete(clients, name)
				what = name + " leaves"
			}
		case 5:
			if f := clients[name]; f != nil {
				f.refuses.Store(!f.refuses.Load())
				what = name + " thinks again"
			}
		default:
			what = fmt.Sprintf(`{"type":"MeshTimeout","mesh":"default","name":"t","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"%ds"}}]}}`, 1+step)
			p.call(http.MethodPut, "/meshes/default/meshtimeouts/t", what)
		}
		history += what + "\n"
		if draw.IntN(3) == 0 { // else marks gather
			differs := ""
			eventually(t, "what is kept is what is counted after\n"+history, func() bool { differs = p.CensusDiffers("default"); return differs == "" })
		}
	}
	eventually(t, "what is kept is what is counted in the end", func() bool { return p.CensusDiffers("default") == "" })
}

// TestQuestionsLookAtWhatHasChanged: who asks again about all sidecars has none of them looked
// at, and after something has become of one no more than that one.
func TestQuestionsLookAtWhatHasChanged(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	const many = 50
	text := ""
	for i := range many {
		text += fmt.Sprintf("---\n"+`{"type":"Dataplane","mesh":"default","name":"dp-%d","networking":{"address":"127.0.0.1","inbound":[{"port":%d,"tags":{"kuma.io/service":"a"}}]}}`+"\n", i, 1000+i)
	}
	p.post("/_apply", text)
	questions := []string{"/meshes/default/_status?size=10", "/_problems", "/global-insight", "/mesh-insights", "/meshes/default/service-insights", "/meshes/default/_sidecars?size=10", "/meshes/default/_sidecars?state=missing"}
	ask := func() {
		t.Helper()
		for _, q := range questions {
			if code, body := p.call(http.MethodGet, q, ""); code != http.StatusOK {
				t.Fatal(q, code, body)
			}
		}
	}
	eventually(t, "all that happens has been seen", func() bool {
		ask()
		published, before := p.Unpublished() == 0, p.Looked()
		ask()
		return published && before == p.Looked()
	})
	before := p.Looked()
	f := p.connectFickle(conn, "default.dp-7", false)
	eventually(t, "the sidecar follows", func() bool {
		_, body := p.call(http.MethodGet, "/meshes/default/_sidecars?state=in%20sync", "")
		return len(body) > 0 && p.CensusDiffers("default") == "" && p.Looked() > before
	})
	f.cut()
	eventually(t, "the sidecar is gone", func() bool {
		ask()
		now := p.Looked()
		ask()
		return p.CensusDiffers("default") == "" && now == p.Looked()
	})
	if n := p.Looked() - before; n >= many {
		t.Errorf("after one of %d sidecars came and went %d dataplanes were looked at", many, n)
	}
}
