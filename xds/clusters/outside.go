package clusters

import (
	"errors"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/endpoints"
	"github.com/weftmesh/weft/xds/envoy"
)

// reachOutside makes out a cluster of the endpoints that an external service
// names, with what each priority falls back to.
func reachOutside(out *clusterv3.Cluster, d *effective.Destination) error {
	s := d.External
	if len(s.Endpoints) == 0 {
		return errors.New("the external service names no endpoint")
	}
	fixed, host := true, ""
	priorities := map[uint32][]envoy.HostPort{}
	for _, e := range s.Endpoints {
		h := envoy.HostPort{Host: e.Address, Port: e.Port}
		if _, unix := h.Unix(); !unix && !envoy.IsIP(e.Address) {
			fixed = false
			if host == "" {
				host = e.Address
			}
		}
		priorities[e.Priority] = append(priorities[e.Priority], h)
	}
	kind := clusterv3.Cluster_STRICT_DNS
	if fixed {
		kind = clusterv3.Cluster_STATIC
	} else {
		out.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	}
	out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: kind}
	out.LoadAssignment = envoy.Assignment(out.Name, inOrder(priorities))
	if d.Kind == api.KindAddress {
		return byTheirHosts(out, d)
	}
	socket, err := externalTLS(s.TLS, host)
	out.TransportSocket = socket
	return err
}

// byTheirHosts gives every address the host that it is called by where a route asks for
// that, and the name that it has to prove where it speaks TLS: addresses of several
// names have a transport socket for each.
func byTheirHosts(out *clusterv3.Cluster, d *effective.Destination) error {
	byHost := map[string][]*endpointv3.LbEndpoint{}
	for _, e := range out.LoadAssignment.Endpoints {
		for _, l := range e.LbEndpoints {
			at := l.GetEndpoint()
			address := at.Address.GetSocketAddress()
			at.Hostname = d.HostOf(address.GetAddress(), address.GetPortValue())
			byHost[address.GetAddress()] = append(byHost[address.GetAddress()], l)
		}
	}
	for _, host := range envoy.SortedKeys(byHost) {
		socket, err := externalTLS(d.External.TLS, host)
		switch {
		case err != nil || socket == nil:
			return err
		case len(byHost) == 1:
			out.TransportSocket = socket
			return nil
		}
		name := map[string]string{"host": host}
		for _, l := range byHost[host] {
			l.Metadata = envoy.TextMetadata(endpoints.SocketMatch, name)
		}
		out.TransportSocketMatches = append(out.TransportSocketMatches, &clusterv3.Cluster_TransportSocketMatch{Name: host, Match: envoy.TextStruct(name), TransportSocket: socket})
	}
	return nil
}
