// Package naming is how resources are called (spec/xds.md 2). No name depends on content.
package naming

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// Unresolved is the name of a cluster that no destination can have. Envoy draws
// one number for a request, so a share that must fail is one of the weights.
const Unresolved = "weft/unresolved"

// Passthrough is the name of the virtual host, and of the cluster, by which requests and
// connections that are for no host of the mesh go on to where they were going.
const Passthrough = "outbound:passthrough"

// InboundPassthrough begins the names of what lets connections to the workload pass.
const InboundPassthrough = "inbound:passthrough:"

// Authorization is the name of the cluster of the authorization service, which
// no destination can have.
const Authorization = "weft/authorization"

// What an Envoy knows of itself beside its service, by keys of its node's metadata.
const (
	NodeZone     = "kuma.zone"
	NodeWorkload = "kuma.workload"
)

// SidecarCluster is the cluster of a bootstrap that leads to the sidecar's own server of
// secrets, from which Envoy gets the certificate of its workload (spec/identity.md 2.3).
const SidecarCluster = "sidecar_secrets"

// MetricsCluster is the cluster of a bootstrap that leads to where the sidecar's agent serves metrics, and
// nothing else: who asks for those comes from outside, and is no Envoy.
const MetricsCluster = "sidecar_metrics"

// MetricsCertificate is the secret of a bootstrap with the certificate by which metrics are served.
const MetricsCertificate = "metrics_certificate"

// MetricsListener is the name of the listener at which metrics are fetched.
func MetricsListener(port uint32) string { return "metrics:" + strconv.FormatUint(uint64(port), 10) }

// SystemCA is the secret of a bootstrap with the authorities that the sidecar's host trusts.
const SystemCA = "system_ca"

// IdentitySecret is the name of the certificate of a workload of a mesh.
func IdentitySecret(mesh string) string { return "identity_cert:secret:" + mesh }

// Table is the name of the route configuration of a destination.
func Table(destination string) string { return "outbound:" + destination }

// Hosts is the name of the route configuration of all hosts at a port.
func Hosts(port uint32) string { return "outbound:hosts:" + strconv.FormatUint(uint64(port), 10) }

// OutboundHosts is that of the one behind o, which leads to a host.
func OutboundHosts(o *effective.Outbound) string {
	if o.Passthrough {
		return PassthroughHosts(o.Destination.Port)
	}
	return Hosts(o.Destination.Port)
}

// PassthroughHosts is the name of the route configuration of all hosts at a port behind
// redirection: that of HostsName, and what becomes of the others.
func PassthroughHosts(port uint32) string { return Hosts(port) + ":passthrough" }

// OutboundRoutes is the name of the route configuration of an outbound; empty where it takes no requests.
func OutboundRoutes(o *effective.Outbound) string {
	switch {
	case o.ToHost():
		return OutboundHosts(o)
	case o.Table != nil:
		return Table(o.Destination.ID)
	}
	return ""
}

// OutboundListener is the name of the listener at an outbound.
func OutboundListener(o *effective.Outbound) string { return "outbound:" + Address(o.Address, o.Port) }

// Edge is the name of the route configuration of all hosts that edge dataplanes
// serve at a port.
func Edge(port uint32) string { return "edge:" + strconv.FormatUint(uint64(port), 10) }

// EdgeListener is that of the listener of an edge; EdgeName is that of the routes of its port.
func EdgeListener(e *effective.Edge) string { return "edge:" + Address(e.Address, e.Port) }

// ChainRoutes is the name of the route configuration of those who ask for a name at a
// port where clients speak TLS.
func ChainRoutes(port uint32, name string) string {
	return Edge(port) + ":" + cmp.Or(name, api.AnyHost)
}

// Slot is how the counters of a slot of a table are called (effective.Table.Slots): s41. It has no
// dot, so that Envoy finds its end.
func Slot(n uint16) string { return slots[n] }

// slots are made once: every route has one.
var slots = func() (out [effective.MostSlots]string) {
	for n := range out {
		out[n] = "s" + strconv.Itoa(n)
	}
	return out
}()

// Inbound is that of an inbound's listener and cluster.
func Inbound(i *effective.Inbound) string { return "inbound:" + Address(i.Address, i.Port) }

// GuardedRoutes ends the name of the routes of an inbound that takes mutual TLS. Connections
// outlive the listener by which they came, and follow its routes: were those of the listener
// after it the same ones, callers in the middle of a connection would be refused as soon as
// mutual TLS is taken back, for filters without a word of who may come in are closed.
const GuardedRoutes = ":mtls"

// InboundRoutes is the name of the route configuration of an inbound.
func InboundRoutes(i *effective.Inbound) string {
	if i.TLS != nil {
		return Inbound(i) + GuardedRoutes
	}
	return Inbound(i)
}

// Stat is a name as Envoy's statistics have it. Envoy takes the part of a statistic before the first dot for the
// name, and what follows would be part of the statistic: each destination would have figures of its own instead
// of labels.
func Stat(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}

// Address is an address with its port.
func Address(address string, port uint32) string {
	return net.JoinHostPort(address, strconv.FormatUint(uint64(port), 10))
}
