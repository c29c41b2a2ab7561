package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secretv3 "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/xds/bootstrap"
)

// secrets are what Envoy asks for by SDS, in the state-of-the-world form. go-control-plane has a
// server of it, by which the agent would depend on all of Envoy's API.
type secrets struct {
	secretv3.UnimplementedSecretDiscoveryServiceServer

	mu      sync.Mutex
	version int
	named   map[string]*anypb.Any
	changed chan struct{} // closed when one changes, then replaced
}

func newSecrets() *secrets {
	return &secrets{named: map[string]*anypb.Any{}, changed: make(chan struct{})}
}

// put serves a chain and its key under a name.
func (s *secrets) put(name, chain string, key []byte) error {
	secret, err := anypb.New(bootstrap.WorkloadSecret(name, []byte(chain), key))
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named[name] = secret
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// get is what there is of the names, and is closed when that may have changed.
func (s *secrets) get(names []string) (found map[string]*anypb.Any, version string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found = map[string]*anypb.Any{}
	for _, name := range names {
		if secret := s.named[name]; secret != nil {
			found[name] = secret
		}
	}
	return found, strconv.Itoa(s.version), s.changed
}

// StreamSecrets sends the secrets that Envoy names when there are any, and again when one changes.
func (s *secrets) StreamSecrets(stream secretv3.SecretDiscoveryService_StreamSecretsServer) error {
	ctx := stream.Context()
	requests := make(chan *discoveryv3.DiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	var names []string
	var sent map[string]*anypb.Any
	for nonce := 0; ; {
		found, version, changed := s.get(names)
		if len(found) > 0 && !maps.Equal(found, sent) {
			nonce++
			if err := stream.Send(response(found, version, strconv.Itoa(nonce))); err != nil {
				return err
			}
			sent = found
		}
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			if r.ResponseNonce == "" || r.ResponseNonce == strconv.Itoa(nonce) { // else it answers what is not the last
				names = r.ResourceNames
			}
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func response(found map[string]*anypb.Any, version, nonce string) *discoveryv3.DiscoveryResponse {
	out := &discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: nonce}
	for _, secret := range found {
		out.TypeUrl = secret.TypeUrl
		out.Resources = append(out.Resources, secret)
	}
	return out
}

// Listen opens the unix socket at which Serve answers, in a directory that nobody else may
// enter.
func Listen(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for envoy's questions for its certificate: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve answers Envoy until ctx ends, and offers it what else there is.
func (h *Holder) Serve(ctx context.Context, l net.Listener, more ...func(*grpc.Server)) error {
	g := grpc.NewServer()
	for _, register := range more {
		register(g)
	}
	secretv3.RegisterSecretDiscoveryServiceServer(g, h.secrets)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	if err := g.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the certificate of the workload: %w", err)
	}
	return nil
}
