package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/resolver"
)

// serveNames answers until ctx ends: a workload that ends still calls others.
func serveNames(ctx context.Context, names *resolver.Resolver) error {
	stop := context.AfterFunc(ctx, names.Close)
	defer stop()
	if err := names.Serve(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve names: %w", err)
	}
	return nil
}

// named is an error while names of the mesh are awaited: until they are told, or Envoy has
// been ready for so long that the workload had better start without them.
func (a *Agent) named(now time.Time) error {
	if !a.state.unnamed.Load() {
		return nil
	}
	a.state.ready.CompareAndSwap(nil, &now)
	if now.Sub(*a.state.ready.Load()) < a.intervals.names {
		return errors.New("the control plane has not sent the names of the mesh yet")
	}
	a.goWithout(fmt.Sprintf("the control plane did not tell them within %v", a.intervals.names))
	return nil
}

// goWithout has nobody wait for names any more.
func (a *Agent) goWithout(why string) {
	if a.state.unnamed.Swap(false) {
		a.log.Warn("ready without the names of the mesh, which do not resolve until they come", "error", why)
	}
}

// Resolver is the address at which names are resolved, empty where none are.
func (a *Agent) Resolver() string { return text(a.state.resolver.Load()) }

// resolved are names as the resolver has them. What is no address is left out.
func resolved(names map[string]*attach.Name) resolver.NameTable {
	out := make(resolver.NameTable, len(names))
	for name, n := range names {
		a := resolver.Addresses{Last: n.GetLast()}
		for _, text := range n.GetAddresses() {
			if ip, err := netip.ParseAddr(text); err == nil {
				a.Addresses = append(a.Addresses, ip.Unmap())
			}
		}
		out[name] = a
	}
	return out
}
