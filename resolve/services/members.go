package services

import (
	"maps"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
)

// classicMembers lists the inbounds of a kuma.io/service.
func (m Mesh) classicMembers(name string) []Member {
	var out []Member
	for p := range m.Carrying(index.LabelKey(api.TagService, name)) {
		for i := range p.Spec.Networking.Inbound {
			if in := &p.Spec.Networking.Inbound[i]; in.Tags[api.TagService] == name {
				out = append(out, Member{Plane: p, Inbound: in, claims: p.TagClaims(map[string]string{api.TagService: name})})
			}
		}
	}
	return m.admit(out)
}

// serviceMembers is who answers for one port of a service object.
func (m Mesh) serviceMembers(s *index.Service, d *effective.Destination) *Members {
	switch spec := s.Object.Spec.(type) {
	case *api.MeshExternalService:
		return externalMembers(spec)
	case *api.MeshMultiZoneService:
		return m.multiZoneMembers(spec, d.Port)
	case *api.MeshService:
		if pods.PartOf(s.Object) != "" {
			return m.instanceMembers(d)
		}
		return membersOf(m.SelectedInbounds(s.Object, spec, d.Port))
	case *api.Service:
		return m.kubernetesMembers(s.Object, spec, d.Port)
	}
	return membersOf(nil)
}

func externalMembers(spec *api.MeshExternalService) *Members {
	out := &Members{}
	for _, e := range spec.Endpoints {
		out.List = append(out.List, effective.Endpoint{Address: e.Address, Port: e.Port, Priority: e.Priority})
	}
	return out
}

// SelectedInbounds lists those behind one port of a MeshService. Those of a namespace answer for
// its services and for those of the mesh's operators, and for no other namespace's, whatever
// tags and labels they carry (spec/threats.md T10).
func (m Mesh) SelectedInbounds(o *api.Object, spec *api.MeshService, port uint32) []Member {
	target := index.GatherTarget(spec.Selector)
	if target == "" {
		return nil
	}
	var out []Member
	for p := range m.Carrying(target) {
		out = m.selectedOf(p, o, spec, port, out)
	}
	return m.admit(out)
}

// selectedOf adds to out the inbounds of one dataplane behind a port of a MeshService.
func (m Mesh) selectedOf(p *index.Dataplane, o *api.Object, spec *api.MeshService, port uint32, out []Member) []Member {
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
			out = append(out, Member{Plane: p, Inbound: in, claims: claims})
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

// Answering is who answers for a destination, and subjectsOf what is said about it;
// where that failed, nobody and nothing.
func (m Mesh) Answering(d *Destination) *Members {
	if x, _ := m.Members.Get(m.At, d.Key); x != nil {
		return x
	}
	return &Members{}
}

// withPeers says of a mesh with identities which of x are called in plain text, and who all of
// them are: those too that are not ready yet, so that a name is expected before it is shown. Nobody
// is led to one whose identity is revoked, in whatever mode, and its names are expected no more: the
// certificate that it has would be believed until it ends.
func (m Mesh) withPeers(x *Members) *Members {
	waiting, planes := x.Waiting, x.planes
	x.Waiting, x.planes = nil, nil
	if !m.HasIdentities() {
		return x
	}
	names := map[string]bool{}
	add := func(s *identity.DataplaneTLS) {
		if s == nil || s.Revoked != "" {
			return
		}
		for _, name := range slices.Concat(s.Names, s.Shows) {
			if _, err := spiffe.Parse(name); err == nil {
				names[name] = true
			}
		}
	}
	kept := x.List[:0]
	for i, e := range x.List {
		e.Plain = true
		if e.Dataplane == (api.Ref{}) {
			kept = append(kept, e)
			continue
		}
		var p *index.Dataplane
		if i < len(planes) && planes[i].Object.Ref == e.Dataplane {
			p = planes[i]
		} else if p, _ = m.Dataplanes.Get(m.At, index.ObjectKey(e.Dataplane)); p == nil {
			kept = append(kept, e)
			continue
		}
		s := m.TLSOf(e.Dataplane)
		if s != nil && s.Revoked != "" {
			x.Left = append(x.Left, effective.LeftOut{Dataplane: e.Dataplane, Why: "whose identity " + s.Revoked + " is revoked"})
			continue
		}
		e.Plain = s.CalledPlain(p, e.Address, e.Port)
		add(s)
		kept = append(kept, e)
	}
	x.List = kept
	for _, w := range waiting {
		add(m.TLSOf(w.Plane.Object.Ref))
	}
	if len(names) == 0 {
		return x
	}
	x.Peers = &identity.Peers{Names: slices.Sorted(maps.Keys(names))}
	domains := map[string]bool{}
	for _, name := range x.Peers.Names {
		id, _ := spiffe.Parse(name)
		domains[id.Domain] = true
	}
	x.Peers.Domains = slices.Sorted(maps.Keys(domains))
	return x
}
