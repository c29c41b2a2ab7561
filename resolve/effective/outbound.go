package effective

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
)

// ClusterUse is a cluster as one dataplane uses it, with what answers behind it.
type ClusterUse struct {
	*Cluster
	*Endpoints
	// ConnectionsOnly says that no table of the dataplane sends requests to it, only
	// TCPTables whole connections.
	ConnectionsOnly bool
	// ClusterCache and EndpointsCache are what stands beside either.
	ClusterCache, EndpointsCache *Derived
}

// InboundUse is an inbound, and what stands beside it.
type InboundUse struct {
	*Inbound
	Cache *Derived
}

// Outbound is one listener: an address that the workload calls.
type Outbound struct {
	Address     string
	Port        uint32
	Destination *Destination
	// Table has the routes where requests are told apart. Else it is nil and TCP
	// holds: the destination does not speak HTTP, or the strongest route object is
	// about whole connections.
	Table *Table
	TCP   *TCPTable
	// Policies are those of the destination as a whole: what a listener takes.
	Policies Policies
	// Cache is what stands beside all of them, Listener what stands beside the outbound.
	Cache    *Cache
	Listener *Derived
	// Passthrough says that the outbound is to a host behind redirection: what comes to its
	// address and is for none of the hosts there goes on to where it was going.
	Passthrough bool
	// Named says that a service has the name of the host behind redirection, whether the
	// dataplane reaches the service or not: the name does not lead to the host.
	Named bool
	// Edge says that nobody calls it from the dataplane, but clients from outside at
	// the listener of an Edge.
	Edge bool
}

// Protocol is what the listener reads: that of the destination, or plain TCP where
// nobody looks for requests.
func (o *Outbound) Protocol() api.Protocol {
	if o.Table == nil {
		return api.TCP
	}
	return o.Destination.Protocol
}

// ToHost reports whether the outbound is one of several at its address, told apart
// by the host that a request asks for.
func (o *Outbound) ToHost() bool { return o.Destination.Kind == api.KindHost }

// compareClusterName orders clusters by name.
func compareClusterName(c ClusterUse, name string) int { return cmp.Compare(c.Cluster.Name, name) }

// ClusterNamed finds a cluster by name; its fields are nil where there is none.
func (r *Resolved) ClusterNamed(name string) ClusterUse {
	i, ok := slices.BinarySearchFunc(r.Clusters, name, compareClusterName)
	if !ok {
		return ClusterUse{}
	}
	return r.Clusters[i]
}

// CompareOutbounds orders the outbounds of a dataplane: by address, port and destination.
func CompareOutbounds(a, b *Outbound) int { return a.Compare(b.Address, b.Port, b.Destination.ID) }

// Is reports whether o is equal to x.
func (o *Outbound) Is(x *Outbound) bool {
	return o == x || o.Address == x.Address && o.Port == x.Port && o.Edge == x.Edge && o.Passthrough == x.Passthrough && o.Named == x.Named &&
		o.Destination == x.Destination && o.Table == x.Table && o.TCP == x.TCP && o.Cache == x.Cache && o.Policies.Is(x.Policies)
}

// Compare orders an outbound and one at an address to the destination with that id.
func (o *Outbound) Compare(address string, port uint32, id string) int {
	if c := cmp.Compare(o.Address, address); c != 0 {
		return c
	}
	if c := cmp.Compare(o.Port, port); c != 0 {
		return c
	}
	return cmp.Compare(o.Destination.ID, id)
}
