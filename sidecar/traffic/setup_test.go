package traffic_test

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/sidecar/traffic"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/origin"
)

//go:embed testdata/routes.json
var routesText []byte

const dataplane = `type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, outbound: [{port: %d, tags: {kuma.io/service: shop}}]}
---
type: Dataplane
mesh: default
name: shop-1
networking: {address: 127.0.0.2, inbound: [{port: 8080, tags: {kuma.io/service: shop, kuma.io/protocol: http}}]}
`

// sidecar is a real Envoy with weft's bootstrap and a listener of weft's that writes to an agent, and what the
// agent has of it. Routes are a test's own.
type sidecar struct {
	t       *testing.T
	backend *envoytest.Backend
	socket  string // of the agent
	admin   string
	text    []byte // bootstrap
	port    uint32
	envoy   *envoytest.Envoy
	life    int
	log     requests.Log
	lines   *accesslog.Receiver
	server  *grpc.Server
}

func newSidecar(t *testing.T) *sidecar {
	t.Helper()
	s := &sidecar{t: t, backend: envoytest.StartBackend(t, "live"), socket: envoytest.Socket(t), admin: envoytest.Socket(t), port: envoytest.Port(t)}
	s.lines = &accesslog.Receiver{Request: s.log.Line}
	s.listen()
	s.text = s.bootstrap()
	s.start()
	return s
}

// listen is the agent that begins to receive; what ends it ends all its connections.
func (s *sidecar) listen() {
	s.t.Helper()
	_ = os.Remove(s.socket)
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = grpc.NewServer()
	s.lines.Register(s.server)
	go func(g *grpc.Server) { _ = g.Serve(l) }(s.server) // ends with Stop
	s.t.Cleanup(s.server.Stop)
}

func (s *sidecar) start() {
	s.t.Helper()
	s.envoy = envoytest.Start(s.t, s.admin, s.text).Ready()
	s.life++
}

func (s *sidecar) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *sidecar) meter() *traffic.Meter {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.admin)
	}}}
	return traffic.New(traffic.MeterSource{Life: func() any { return s.life }, Received: s.lines.Received, Log: &s.log,
		Get: func(ctx context.Context, path string) (io.ReadCloser, error) {
			q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy/"+path, nil)
			if err != nil {
				return nil, err
			}
			resp, err := client.Do(q)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode != http.StatusOK {
				return nil, fmt.Errorf("%s: %s", path, resp.Status)
			}
			return resp.Body, nil
		}})
}

// runtime has the agent look at how many lines there are.
func (s *sidecar) look() {
	s.t.Helper()
	if err := s.log.Sampler.Look(s.t.Context(), s.life, func(_ context.Context, ppm uint32) error {
		status, text, err := s.envoy.Post(fmt.Sprintf("/runtime_modify?weft.errors=%d", ppm))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, text)
		}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
}

// bootstrap is weft's, with the test's listener and clusters.
func (s *sidecar) bootstrap() []byte {
	s.t.Helper()
	raw, err := render.Bootstrap(render.Config{Mesh: "default", Name: "web-1", XDSHost: "127.0.0.1", XDSPort: 1, AgentSocket: s.socket, AdminSocket: s.admin})
	if err != nil {
		s.t.Fatal(err)
	}
	b := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(raw, b); err != nil {
		s.t.Fatal(err)
	}
	b.DynamicResources = nil
	b.StaticResources.Listeners = []*listenerv3.Listener{s.listener()}
	full := envoytest.EchoCluster("full", s.backend)
	full.CircuitBreakers.Thresholds[0].MaxRequests, full.CircuitBreakers.Thresholds[0].MaxPendingRequests = wrapperspb.UInt32(0), wrapperspb.UInt32(0)
	greeter := envoytest.EchoCluster("greeter", &envoytest.Backend{Host: "127.0.0.1", Port: envoytest.StartGreeter(s.t, "not HTTP\r\n\r\n")})
	nobody := envoytest.EchoCluster("nobody", s.backend)
	nobody.LoadAssignment.Endpoints = nil
	b.StaticResources.Clusters = append(b.StaticResources.Clusters, []*clusterv3.Cluster{envoytest.EchoCluster("live", s.backend), full, greeter, nobody,
		envoytest.EchoCluster("refused", &envoytest.Backend{Host: "127.0.0.1", Port: envoytest.Port(s.t)})}...)
	return envoytest.JSON(s.t, b)
}

// listener is the one by which a sidecar of weft calls a service, with the test's routes in it and the filters
// that those need.
func (s *sidecar) listener() *listenerv3.Listener {
	s.t.Helper()
	objects, err := decode.Objects(world.Catalog(), "web-1.yaml", fmt.Appendf(nil, dataplane, s.port))
	if err != nil {
		s.t.Fatal(err)
	}
	m, _ := world.Compile(snapshot.New(1, append(objects, world.DefaultMesh())...))
	resolved, ok := m.Dataplane(objects[0].Ref)
	if !ok {
		s.t.Fatal("there is no dataplane")
	}
	l := envoytest.Listener(s.t, world.Settings{}.Renderer().Render(resolved).Listeners[0])
	filter := l.GetFilterChains()[0].GetFilters()[0]
	manager := &hcmv3.HttpConnectionManager{}
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		s.t.Fatal(err)
	}
	routes := &routev3.RouteConfiguration{}
	if err := protojson.Unmarshal(routesText, routes); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range routes.GetVirtualHosts()[0].GetRoutes() {
		r.Metadata = origin.WithSlot(r.Metadata, r.GetStatPrefix())
	}
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes}
	taken := func(name string) bool {
		return slices.ContainsFunc(manager.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == name })
	}
	for name, config := range map[string]proto.Message{"envoy.filters.http.local_ratelimit": &ratelimitv3.LocalRateLimit{StatPrefix: "x"},
		"envoy.filters.http.rbac": &rbacv3.RBAC{}, "envoy.filters.http.fault": &faultv3.HTTPFault{}} {
		if taken(name) {
			continue
		}
		manager.HttpFilters = append([]*hcmv3.HttpFilter{{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(config)}}}, manager.HttpFilters...)
	}
	filter.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(manager)}
	return l
}

// until polls, with a pause that lets others work.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited for " + what)
		}
	}
}
