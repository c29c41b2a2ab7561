package resolve

import (
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
)

// classicMembers lists the inbounds of a kuma.io/service.
func (m servicesMesh) classicMembers(name string) []member {
	var out []member
	for p := range m.Carrying(index.LabelKey(api.TagService, name)) {
		for i := range p.Spec.Networking.Inbound {
			if in := &p.Spec.Networking.Inbound[i]; in.Tags[api.TagService] == name {
				out = append(out, member{plane: p, inbound: in, claims: p.TagClaims(map[string]string{api.TagService: name})})
			}
		}
	}
	return m.admit(out)
}

// serviceMembers is who answers for one port of a service object.
func (m servicesMesh) serviceMembers(s *index.Service, d *effective.Destination) *members {
	switch spec := s.Object.Spec.(type) {
	case *api.MeshExternalService:
		return externalMembers(spec)
	case *api.MeshMultiZoneService:
		return m.multiZoneMembers(spec, d.Port)
	case *api.MeshService:
		if pods.PartOf(s.Object) != "" {
			return m.instanceMembers(d)
		}
		return membersOf(m.selectedInbounds(s.Object, spec, d.Port))
	case *api.Service:
		return m.kubernetesMembers(s.Object, spec, d.Port)
	}
	return membersOf(nil)
}

func externalMembers(spec *api.MeshExternalService) *members {
	out := &members{}
	for _, e := range spec.Endpoints {
		out.list = append(out.list, effective.Endpoint{Address: e.Address, Port: e.Port, Priority: e.Priority})
	}
	return out
}

// selectedInbounds lists those behind one port of a MeshService. Those of a namespace answer for
// its services and for those of the mesh's operators, and for no other namespace's, whatever
// tags and labels they carry (spec/threats.md T10).
func (m servicesMesh) selectedInbounds(o *api.Object, spec *api.MeshService, port uint32) []member {
	target := index.GatherTarget(spec.Selector)
	if target == "" {
		return nil
	}
	var out []member
	for p := range m.Carrying(target) {
		out = m.selectedOf(p, o, spec, port, out)
	}
	return m.admit(out)
}

// selectedOf adds to out the inbounds of one dataplane behind a port of a MeshService.
func (m servicesMesh) selectedOf(p *index.Dataplane, o *api.Object, spec *api.MeshService, port uint32, out []member) []member {
	i, home := slices.IndexFunc(spec.Ports, func(p api.ServicePort) bool { return p.Port == port }), o.Home()
	if at := p.Object.Home().Namespace; i < 0 || !selects(spec.Selector, p) || !home.System && at != "" && at != home.Namespace {
		return out
	}
	var claims []index.Claim
	if by := spec.Selector; by.DataplaneRef != nil {
		claims = p.NameClaims(by.DataplaneRef.Name)
	} else if by.DataplaneLabels != nil {
		claims = p.LabelClaims(by.DataplaneLabels.MatchLabels)
	}
	claims = append(claims, p.TagClaims(spec.Selector.DataplaneTags)...)
	for n := range p.Spec.Networking.Inbound {
		in := &p.Spec.Networking.Inbound[n]
		if !p.AtOther(in) && isTarget(in, &spec.Ports[i]) && matcher.Tags(spec.Selector.DataplaneTags, in.Tags) {
			out = append(out, member{plane: p, inbound: in, claims: claims})
		}
	}
	return out
}

// selects asks for what gatherTarget leaves open: it took a name, or one label.
func selects(s *api.ServiceSelector, p *index.Dataplane) bool {
	return s.DataplaneLabels == nil || p.Facts.Labels.Carry(s.DataplaneLabels.MatchLabels)
}

// isTarget reports whether the inbound is what the port of a service leads to.
func isTarget(in *api.Inbound, p *api.ServicePort) bool {
	if p.TargetPort == nil {
		return in.Port == p.Port
	}
	if p.TargetPort.Name != "" {
		return in.Name == p.TargetPort.Name
	}
	return in.Port == p.TargetPort.Int || in.Name == strconv.FormatUint(uint64(p.TargetPort.Int), 10)
}
