package identity

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	secretv3 "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"

	"github.com/weftmesh/weft/sidecar/discovery"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// secrets are what Envoy asks for by SDS.
type secrets struct {
	secretv3.UnimplementedSecretDiscoveryServiceServer

	named *discovery.ServedResources
}

func newSecrets() *secrets { return &secrets{named: discovery.New()} }

// put serves a chain and its key under a name.
func (s *secrets) put(name, chain string, key []byte) error {
	return s.named.Put(name, bootstrap.WorkloadSecret(name, []byte(chain), key))
}

// StreamSecrets sends the secrets that Envoy names when there are any, and again when one changes.
func (s *secrets) StreamSecrets(stream secretv3.SecretDiscoveryService_StreamSecretsServer) error {
	return s.named.Serve(stream)
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
