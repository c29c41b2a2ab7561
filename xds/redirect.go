package xds

import (
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/listeners"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/routes"
)

// The ports to which redirected traffic goes where a Dataplane names none.
const (
	redirectInbound  = 15006
	redirectOutbound = 15001
	redirectDNS      = 15053
)

// passthrough adds where redirected traffic arrives. Envoy hands a connection to
// the listener of its original address; what has none goes on to where it was
// going.
func (s *rendering) passthrough(r *effective.Resolved) {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil || dp.Networking.TransparentProxying == nil {
		return
	}
	t := dp.Networking.TransparentProxying
	in, out := t.RedirectPortInbound, t.RedirectPortOutbound
	if in == 0 {
		in = redirectInbound
	}
	if out == 0 {
		out = redirectOutbound
	}
	for _, ip := range t.Families() {
		going, coming := naming.Passthrough+":"+family(ip), naming.InboundPassthrough+family(ip)
		s.listen(r, listeners.Capture(r, going, going, ip.String(), corev3.TrafficDirection_OUTBOUND, out), envoy.HostPort{Host: ip.String(), Port: out}, nil)
		s.Add(&s.Clusters, clusters.Captured(r, going, ""), nil)
		s.listen(r, listeners.Capture(r, coming, listeners.Undeclared(r, coming), ip.String(), corev3.TrafficDirection_INBOUND, in, out, redirectDNS), envoy.HostPort{Host: ip.String(), Port: in}, nil)
		s.Add(&s.Clusters, clusters.Captured(r, coming, clusters.SourceFor(ip.String())), nil)
	}
	s.spare(r, dp.Networking)
}

// spare listens at the dataplane's own addresses where the hosts at a port would be called.
func (s *rendering) spare(r *effective.Resolved, net *api.Networking) {
	for i, o := range r.Outbounds {
		if !o.Passthrough || i > 0 && routes.SameListener(r.Outbounds[i-1], o) {
			continue
		}
		for ip := range net.Addresses() {
			at := envoy.HostPort{Host: ip.String(), Port: o.Port}
			if s.taken[at] || ip.Is4() != (o.Address == listeners.AnyIPv4) {
				continue
			}
			s.listen(r, listeners.CaptureOwn(r, at.Host, at.Port, naming.InboundPassthrough+family(ip)), at, nil)
		}
	}
}

func family(ip netip.Addr) string {
	if ip.Is4() {
		return "ipv4"
	}
	return "ipv6"
}
