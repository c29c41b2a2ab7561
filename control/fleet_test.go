package control_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/resource"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// fleetEnv makes the test binary many sidecars: what they need is not counted for the control
// plane that they are connected to. It names a file of a fleetOf.
const fleetEnv = "WEFT_TEST_FLEET"

// fleetOf is what it is told. Without a CA they speak plaintext, and have no agents.
type fleetOf struct {
	XDS, CA  string
	Sidecars []fleetSidecar
}

// fleetSidecar is one of them: it follows all that its Envoy would be told, confirms it, and has
// an agent that has its key certified when it is asked to.
type fleetSidecar struct {
	Name, Token string
	// Tables are those of which its agent reports requests each ten seconds; none where there is no agent.
	Tables []string
}

// fleet runs such a process until the test ends, or stop is called.
func (p *plane) fleet(t testing.TB, sidecars []fleetSidecar) (stop func()) {
	t.Helper()
	of := fleetOf{XDS: p.XDS(), Sidecars: sidecars}
	if p.trusts != nil {
		of.CA = filepath.Join(p.dir, "ca.pem")
	}
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fleet.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), fleetEnv+"="+file)
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = run.Process.Kill()
			_ = run.Wait()
		}
	}
	t.Cleanup(stop)
	return stop
}

// sail is the life of that process.
func sail(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var of fleetOf
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	if of.CA == "" {
		return of.drift()
	}
	ca, err := os.ReadFile(of.CA)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	trusts := &tls.Config{RootCAs: pool}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusts, MaxIdleConnsPerHost: 16, MaxConnsPerHost: 64, IdleConnTimeout: time.Second}}
	var conn *grpc.ClientConn
	for n, s := range of.Sidecars {
		if n%40 == 0 { // a connection has 128 streams at most
			if conn, err = grpc.NewClient(of.XDS, grpc.WithTransportCredentials(credentials.NewTLS(trusts)), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20))); err != nil {
				return err
			}
		}
		a := &afloat{fleetSidecar: s, url: "https://" + of.XDS + "/certify", client: client}
		ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+s.Token)
		for _, run := range []func(context.Context, *grpc.ClientConn) error{a.follow, a.attach} {
			go func(conn *grpc.ClientConn) {
				for {
					fmt.Fprintln(os.Stderr, s.Name, run(ctx, conn)) // a busy control plane may refuse some at first
					time.Sleep(time.Second)
				}
			}(conn)
		}
	}
	select {} // until it is killed
}

// afloat is a sidecar of a fleet.
type afloat struct {
	fleetSidecar
	url    string
	client *http.Client
}

// follow is its stream of ADS.
func (a *afloat) follow(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	node := &corev3.Node{Id: "default." + a.Name, UserAgentName: "envoy", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "test"}}
	_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resource.ClusterType, Node: node})
	_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resource.ListenerType})
	s := subscriptions{send: stream.Send, asked: map[string]bool{}, tables: map[string][]string{}}
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, x := range r.Resources {
			switch {
			case r.TypeUrl == resource.ClusterType && !strings.HasPrefix(x.Name, "inbound:"):
				s.ask(resource.EndpointType, x.Name)
				if bytes.Contains(x.Resource.GetValue(), []byte(trustOfClients)) {
					s.ask(resource.SecretType, trustOfClients)
				}
			case r.TypeUrl == resource.ListenerType:
				s.listens(x.Name, routesOf(x.Resource.GetValue()))
				if bytes.Contains(x.Resource.GetValue(), []byte(trustOfServers)) {
					s.ask(resource.SecretType, trustOfServers)
				}
			}
		}
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce}); err != nil {
			return err
		}
	}
}

// subscriptions are what a sidecar asks for by name.
type subscriptions struct {
	send   func(*discoveryv3.DeltaDiscoveryRequest) error
	asked  map[string]bool
	tables map[string][]string // of listeners
}

func (s *subscriptions) ask(kind string, names ...string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s.asked[kind+name] })
	for _, name := range names {
		s.asked[kind+name] = true
	}
	if len(names) > 0 {
		_ = s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: kind, ResourceNamesSubscribe: names})
	}
}

// listens has a listener go by tables. As an Envoy it lets go of those that it went by before: of
// inbounds each is named by one listener alone.
func (s *subscriptions) listens(listener string, tables []string) {
	s.ask(resource.RouteType, tables...)
	for _, name := range s.tables[listener] {
		if strings.HasPrefix(name, "inbound:") && !slices.Contains(tables, name) {
			delete(s.asked, resource.RouteType+name)
			_ = s.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: resource.RouteType, ResourceNamesUnsubscribe: []string{name}})
		}
	}
	s.tables[listener] = tables
}

// routesOf are the route tables that a listener names.
func routesOf(listener []byte) (names []string) {
	l := new(listenerv3.Listener)
	if err := proto.Unmarshal(listener, l); err != nil {
		panic(err)
	}
	for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
		for _, f := range chain.GetFilters() {
			manager := new(hcmv3.HttpConnectionManager)
			if f.GetTypedConfig().UnmarshalTo(manager) == nil && manager.GetRds() != nil {
				names = append(names, manager.GetRds().GetRouteConfigName())
			}
		}
	}
	return names
}

// attach is the stream of its agent.
func (a *afloat) attach(ctx context.Context, conn *grpc.ClientConn) error {
	g, err := attach.NewSidecarClient(conn).Attach(ctx)
	if err != nil {
		return err
	}
	if err := g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: "default." + a.Name}}}); err != nil {
		return err
	}
	for {
		down, err := g.Recv()
		if err != nil {
			return err
		}
		if down.GetCertify() == nil {
			continue
		}
		shown, err := a.certify(ctx)
		for err != nil {
			time.Sleep(time.Second) // as an agent does first
			shown, err = a.certify(ctx)
		}
		if err := g.Send(&attach.Up{Is: &attach.Up_Certificate{Certificate: shown}}); err != nil {
			return err
		}
	}
}

// certify has another key certified, and is what an agent shows of it.
func (a *afloat) certify(ctx context.Context) (*attach.Certificate, error) {
	key, err := signing.NewKey()
	if err != nil {
		return nil, err
	}
	request, err := signing.NewRequest(key)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"mesh": "default", "name": a.Name, "request": request})
	if err != nil {
		return nil, err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Authorization", "Bearer "+a.Token)
	resp, err := a.client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct{ Chain string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %v", resp.Status, err)
	}
	out := &attach.Certificate{}
	for block, rest := pem.Decode([]byte(answer.Chain)); block != nil; block, rest = pem.Decode(rest) {
		out.Chain = append(out.Chain, block.Bytes)
	}
	out.Proof, err = signing.Prove(key, "default."+a.Name)
	return out, err
}
