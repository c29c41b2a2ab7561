package traffic

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sim/balance"
	"github.com/weftmesh/weft/xds/naming"
)

// Bounds of what one stream may tell of hosts.
const (
	mostReported = 16 // of a report
	mostClusters = 256
)

// cluster is one by its number on the stream.
type cluster struct {
	name string              // as Envoy's lines write it
	seen *effective.Resolved // in which it was looked for
	of   effective.ClusterUse
	// whole says that all that is sent to its destination goes to its endpoints, as far as the dataplane sends any.
	whole bool
}

// failedAt takes where attempts failed: at endpoints that the dataplane has, and nowhere else.
func (s *stream) failedAt(now time.Time, hosts []*attach.Host) {
	var list []traffic.FailedHost
	for _, h := range hosts[:min(len(hosts), mostReported)] {
		c := s.cluster(h)
		address, ok := addressOf(h.GetAddress())
		if c == nil || !ok {
			continue
		}
		if e := endpointAt(c.of.Endpoints, address); e != nil {
			list = append(list, traffic.FailedHost{To: destined(s.resolved.Ref.Mesh, c.of.Destination), Address: address.String(), Dataplane: e.Dataplane, Of: alike(s.resolved, c.of, e), Whole: c.whole,
				HostCounts: traffic.HostCounts{Refused: h.GetRefused(), Closed: h.GetClosed(), Timeouts: h.GetTimeouts(), Errors: h.GetErrors(), Lines: h.GetLines()}})
		}
	}
	if len(list) > 0 {
		s.collector.failedAt(now, list)
	}
}

// failedAt adds where attempts failed.
func (c *TrafficCollector) failedAt(now time.Time, list []traffic.FailedHost) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums.FailedAt(now, list)
}

// cluster is the one of a host; nil where the dataplane has none of that name, or the stream names too many.
func (s *stream) cluster(h *attach.Host) *cluster {
	c := s.clusters[h.GetCluster()]
	if c == nil {
		if h.GetName() == "" || len(h.GetName()) > longestName || len(s.clusters) >= mostClusters {
			return nil
		}
		c = &cluster{name: h.GetName()}
		s.clusters[h.GetCluster()] = c
	}
	if c.seen != s.resolved {
		c.seen, c.of = s.resolved, clusterOf(s.resolved, c.name)
		c.whole = c.of.Cluster != nil && whole(s.resolved, c.of.Cluster)
	}
	if c.of.Cluster == nil || c.of.Endpoints == nil {
		return nil
	}
	return c
}

// clusterOf is the cluster of a name, as it is or as statistics write it.
func clusterOf(r *effective.Resolved, name string) effective.ClusterUse {
	if c := r.ClusterNamed(name); c.Cluster != nil {
		return c
	}
	for _, c := range r.Clusters {
		if naming.Stat(c.Cluster.Name) == name {
			return c
		}
	}
	return effective.ClusterUse{}
}

// whole reports whether a dataplane sends all that it sends to the destination of a cluster to that cluster, and
// nothing else.
func whole(r *effective.Resolved, c *effective.Cluster) bool {
	for _, o := range r.Outbounds {
		if o.Table == nil {
			continue
		}
		own := o.Destination.ID == c.Destination.ID && o.Destination.Namespace == c.Destination.Namespace
		for _, to := range o.Table.Routes {
			for i := range to.Backends {
				if (to.Backends[i].Cluster == c.Name) != own {
					return false
				}
			}
		}
	}
	return true
}

// alike is how many endpoints of a cluster get as many requests of r as one of them, with it: those of its priority
// that are as near. By a hash each gets what its keys are asked for.
func alike(r *effective.Resolved, c effective.ClusterUse, e *effective.Endpoint) (n int) {
	if balance.ByHash(c.Cluster) {
		return 0
	}
	near := r.Nearness(c.Cluster)
	shared := near.At(e)
	for i := range c.List {
		if c.List[i].Priority == e.Priority && near.At(&c.List[i]) == shared {
			n++
		}
	}
	return n
}

// endpointAt is the endpoint at an address; nil for none.
func endpointAt(of *effective.Endpoints, at netip.AddrPort) *effective.Endpoint {
	for i := range of.List {
		e := &of.List[i]
		if ip, err := netip.ParseAddr(e.Address); err == nil && e.Port == uint32(at.Port()) && ip.Unmap() == at.Addr() {
			return e
		}
	}
	return nil
}

// addressOf reads an address as a message has it.
func addressOf(b []byte) (netip.AddrPort, bool) {
	if len(b) != 6 && len(b) != 18 {
		return netip.AddrPort{}, false
	}
	ip, ok := netip.AddrFromSlice(b[:len(b)-2])
	return netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(b[len(b)-2:])), ok
}
