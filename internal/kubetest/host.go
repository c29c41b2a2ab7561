package kubetest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/weftmesh/weft/internal/netnstest"
)

// StartIn is Start in a network namespace, where the API server listens at its IPv4 address.
func StartIn(t testing.TB, n *netnstest.Namespace, flags ...string) *Cluster {
	t.Helper()
	ports := uint32(6442)
	return start(t, host{address: n.IPv4.String(),
		command: func(name string, args ...string) *exec.Cmd { return n.Command(0, name, args...) },
		dial: func(_ context.Context, network, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return n.Connect(0, network, netip.AddrPort{}, to)
		},
		port: func(testing.TB) uint32 { ports++; return ports }}, flags)
}

// host is where both run.
type host struct {
	command func(name string, args ...string) *exec.Cmd
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	address string
	port    func(testing.TB) uint32 // one that nobody has
}

func (h host) url(t testing.TB, scheme string) string {
	return fmt.Sprintf("%s://%s:%d", scheme, h.address, h.port(t))
}
