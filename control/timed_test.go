package control_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/weftmesh/weft/sidecar/attach"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// Whom inbounds and clients of mesh default trust, by SDS.
const (
	trustOfServers = "mesh_ca:secret:default"
	trustOfClients = "mesh_ca:secret:default:default"
)

// timed is a sidecar whose clock a test has: it is certified, trusts whom it is told to trust, and
// speaks TLS, as agent and Envoy would of whom each has a clock of its own.
type timed struct {
	t           testing.TB
	name, token string
	now         func() time.Time
	address     string      // of the control plane
	trusts      *tls.Config // that
	frozen      atomic.Bool // it acknowledges, takes and renews nothing
	signed      atomic.Int64

	mu     sync.Mutex
	leaf   *tls.Certificate
	ends   time.Time
	renew  time.Time
	shown  chan struct{} // closed when there is another leaf
	roots  map[string]*x509.CertPool
	issues []string // fingerprints of the roots above its leaves, one after the other
}

// calling is a Dataplane that calls some service, so that it has somebody to trust as a client.
func calling(name, service, calls string) string {
	return fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s\nnetworking: {address: 127.0.0.1, inbound: [{port: 8080, tags: {kuma.io/service: %s}}], outbound: [{port: 10001, tags: {kuma.io/service: %s}}]}\n---\n", name, service, calls)
}

func newTimed(t testing.TB, address string, trusts *tls.Config, name, token string, now func() time.Time) *timed {
	t.Helper()
	s := &timed{t: t, name: name, token: token, now: now, address: address, trusts: trusts, shown: make(chan struct{}), roots: map[string]*x509.CertPool{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	again := make(chan struct{}, 1)
	for _, keep := range []func(context.Context) error{s.follow, func(ctx context.Context) error { return s.attach(ctx, again) }} {
		running.Go(func() {
			for ctx.Err() == nil {
				_ = keep(ctx) // the control plane comes and goes
				pause(ctx, 20*time.Millisecond)
			}
		})
	}
	running.Go(func() { s.keepCertified(ctx, again) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return s
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (s *timed) dial(ctx context.Context) (*grpc.ClientConn, context.Context, error) {
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(s.trusts)))
	return conn, metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token), err
}

// thawed waits as long as it is frozen.
func (s *timed) thawed(ctx context.Context) {
	for s.frozen.Load() && ctx.Err() == nil {
		pause(ctx, 5*time.Millisecond)
	}
}

// follow is one stream of ADS.
func (s *timed) follow(ctx context.Context) error {
	conn, ctx, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	node := &corev3.Node{Id: "default." + s.name}
	for _, kind := range []string{"config.cluster.v3.Cluster", "config.listener.v3.Listener", "config.route.v3.RouteConfiguration", "config.endpoint.v3.ClusterLoadAssignment", "extensions.transport_sockets.tls.v3.Secret"} {
		names := []string{"*"}
		if kind == "extensions.transport_sockets.tls.v3.Secret" {
			names = []string{trustOfServers, trustOfClients}
		}
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: "type.googleapis.com/envoy." + kind, ResourceNamesSubscribe: names}); err != nil {
			return err
		}
		node = nil
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		s.thawed(ctx)
		for _, x := range r.GetResources() {
			secret := new(tlsv3.Secret)
			if x.GetResource().UnmarshalTo(secret) == nil {
				s.trust(secret)
			}
		}
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}); err != nil {
			return err
		}
	}
}

// trust takes whom it is to trust.
func (s *timed) trust(secret *tlsv3.Secret) {
	conf := new(tlsv3.SPIFFECertValidatorConfig)
	if err := secret.GetValidationContext().GetCustomValidatorConfig().GetTypedConfig().UnmarshalTo(conf); err != nil {
		s.t.Errorf("%s: %v", secret.GetName(), err)
		return
	}
	pool := x509.NewCertPool()
	for _, d := range conf.GetTrustDomains() {
		pool.AppendCertsFromPEM(d.GetTrustBundle().GetInlineBytes())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roots[secret.GetName()] = pool
}

// attach is one stream of the agent.
func (s *timed) attach(ctx context.Context, again chan<- struct{}) error {
	conn, ctx, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	g, err := attach.NewSidecarClient(conn).Attach(ctx)
	if err != nil {
		return err
	}
	if err := g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: "default." + s.name}}}); err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			s.mu.Lock()
			leaf, shown := s.leaf, s.shown
			s.mu.Unlock()
			if leaf != nil {
				proof, err := signing.Prove(leaf.PrivateKey.(*ecdsa.PrivateKey), "default."+s.name)
				if err != nil || g.Send(&attach.Up{Is: &attach.Up_Certificate{Certificate: &attach.Certificate{Chain: leaf.Certificate, Proof: proof}}}) != nil {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-shown:
			}
		}
	}()
	for {
		down, err := g.Recv()
		if err != nil {
			return err
		}
		if down.GetCertify() != nil {
			select {
			case again <- struct{}{}:
			default:
			}
		}
	}
}

// keepCertified renews in time, and when it is asked to.
func (s *timed) keepCertified(ctx context.Context, again <-chan struct{}) {
	for ctx.Err() == nil {
		s.thawed(ctx)
		s.mu.Lock()
		due := s.leaf == nil || !s.now().Before(s.renew)
		s.mu.Unlock()
		select {
		case <-again:
			due = true
		default:
		}
		wait := 10 * time.Millisecond
		if due && s.certify(ctx) != nil {
			wait = 200 * time.Millisecond // there is a cap
		}
		pause(ctx, wait)
	}
}

// certify has another key certified.
func (s *timed) certify(ctx context.Context) error {
	key, err := signing.NewKey()
	if err != nil {
		return err
	}
	request, err := signing.NewRequest(key)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"mesh": "default", "name": s.name, "request": request})
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+s.address+"/certify", bytes.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := (&http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: s.trusts, DisableKeepAlives: true}}).Do(ask)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Chain, Root    string
		Expires, Renew time.Time
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %v", resp.Status, err)
	}
	leaf := &tls.Certificate{PrivateKey: key}
	for block, rest := pem.Decode([]byte(answer.Chain)); block != nil; block, rest = pem.Decode(rest) {
		leaf.Certificate = append(leaf.Certificate, block.Bytes)
	}
	s.thawed(ctx)
	s.signed.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaf, s.ends, s.renew, s.issues = leaf, answer.Expires, answer.Renew, append(s.issues, answer.Root)
	close(s.shown)
	s.shown = make(chan struct{})
	return nil
}
