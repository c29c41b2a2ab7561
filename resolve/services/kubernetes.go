package services

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
)

// kubernetesMembers is who answers for a port of a Service: what its EndpointSlices
// list, and where there is none the dataplanes that it selects.
func (m Mesh) kubernetesMembers(o *api.Object, spec *api.Service, port uint32) *Members {
	var at *api.KubernetesPort
	for i := range spec.Ports {
		if p := &spec.Ports[i]; p.OverTCP() && p.Port == port {
			at = p
		}
	}
	slices := 0
	var ready, serving answers
	for s := range m.Objects(api.KindEndpointSlice, map[string]string{api.LabelServiceName: o.Name}) {
		if s.HomeNamespace() != o.HomeNamespace() || at == nil {
			continue
		}
		slices++
		m.fromSlice(s.Spec.(*api.EndpointSlice), at, &ready, &serving)
	}
	switch {
	case slices == 0:
		return membersOf(m.SelectedByService(o, spec, at))
	case len(ready.list) > 0:
		return ready.members()
	}
	return serving.members()
}

// answers gathers endpoints, each address once.
type answers struct {
	list  []effective.Endpoint
	seen  map[string]bool
	plain bool // one of them is no inbound that takes HTTP/2
	// waiting do not answer yet.
	waiting []Member
}

func (a *answers) members() *Members {
	return &Members{List: a.list, HTTP2: len(a.list) > 0 && !a.plain, Waiting: a.waiting}
}

// fromSlice adds the endpoints of a slice that answer for a port.
func (m Mesh) fromSlice(s *api.EndpointSlice, port *api.KubernetesPort, ready, serving *answers) {
	for _, p := range s.Ports {
		if p.Name != port.Name || p.Port == 0 || !p.OverTCP() {
			continue
		}
		for i := range s.Endpoints {
			e := &s.Endpoints[i]
			for _, address := range e.Addresses {
				if _, err := netip.ParseAddr(address); err != nil {
					continue // addressType FQDN: Envoy calls addresses
				}
				if e.IsReady() {
					m.addAnswer(ready, address, p.Port, e.Zone)
				}
				if e.Serves() {
					m.addAnswer(serving, address, p.Port, e.Zone)
				} else if m.HasIdentities() {
					waiting := m.inboundsAt(index.JoinedAddress(address, p.Port))
					ready.waiting, serving.waiting = append(ready.waiting, waiting...), append(serving.waiting, waiting...)
				}
			}
		}
	}
}

// inboundsAt are those at an address and port, of each dataplane one.
func (m Mesh) inboundsAt(key string) []Member {
	var out []Member
	for p := range m.DataplanesByAddress.Values(m.At, key) {
		list := p.Spec.Networking.Inbound
		if i := slices.IndexFunc(list, func(in api.Inbound) bool { return index.AnswersAt(p, &in) == key }); i >= 0 {
			out = append(out, Member{Plane: p, Inbound: &list[i]})
		}
	}
	return out
}

// addAnswer adds one address: an inbound of the mesh if a dataplane has it.
func (m Mesh) addAnswer(a *answers, address string, port uint32, zone string) {
	key := index.JoinedAddress(address, port)
	if a.seen[key] {
		return
	}
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	a.seen[key] = true
	if all := m.inboundsAt(key); len(all) > 0 {
		// Whoever brings a Dataplane along may write another's address into it.
		x := all[max(0, slices.IndexFunc(all, func(x Member) bool { return x.Plane.Object.Bound() == nil }))]
		a.plain = a.plain || !x.protocol().HTTPLike()
		a.list = append(a.list, effective.Endpoint{Dataplane: x.Plane.Object.Ref, Address: address, Port: port, Tags: x.Inbound.Tags, Labels: x.Plane.Object.Labels, Zone: cmp.Or(x.Plane.Object.Labels[api.LabelZone], zone)})
		return
	}
	a.plain = true
	a.list = append(a.list, effective.Endpoint{Address: address, Port: port, Zone: zone})
}

// SelectedByService lists the inbounds of the dataplanes of the Service's namespace
// that it selects, by their labels or by the tags of the inbound.
func (m Mesh) SelectedByService(o *api.Object, spec *api.Service, port *api.KubernetesPort) []Member {
	label := index.FirstPair(spec.Selector, "")
	if label == "" || port == nil {
		return nil
	}
	var out []Member
	for p := range m.Carrying(label) {
		out = m.chosenOf(p, o, spec, port, out)
	}
	return m.admit(out)
}

// chosenOf adds to out the inbounds of one dataplane that a Service selects.
func (m Mesh) chosenOf(p *index.Dataplane, o *api.Object, spec *api.Service, port *api.KubernetesPort, out []Member) []Member {
	if p.Facts.Namespace != o.HomeNamespace() {
		return out
	}
	whole := p.Facts.Labels.Carry(spec.Selector)
	for i := range p.Spec.Networking.Inbound {
		in := &p.Spec.Networking.Inbound[i]
		tagged := matcher.Tags(spec.Selector, in.Tags)
		switch {
		case p.Object.From != nil: // whose inbounds say for which Service they are
			if pods.IsFor(in, o.Name, port.Port) && !p.AtOther(in) {
				out = append(out, Member{Plane: p, Inbound: in})
			}
		case isTarget(in, &api.ServicePort{Port: port.Port, TargetPort: port.TargetPort}) && (whole || tagged):
			claims := p.LabelClaims(spec.Selector)
			if byTags := p.TagClaims(spec.Selector); !whole || tagged && len(byTags) == 0 {
				claims = byTags
			}
			out = append(out, Member{Plane: p, Inbound: in, claims: append(claims, p.SpaceClaims(o.HomeNamespace())...)})
		}
	}
	return out
}
