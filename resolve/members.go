package resolve

import (
	"maps"
	"slices"
	"strconv"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// destinations brings the destinations in line with the marked services and
// kuma.io/service names, and who answers for them.
func (u *updater) destinations() {
	dests, links := u.mesh.dests.Txn(), u.mesh.links.Txn()
	for _, name := range slices.Sorted(maps.Keys(u.classics)) {
		list := classicMembers(u.mesh, name)
		if len(list) == 0 {
			u.drop(dests, links, classicID(name))
			continue
		}
		u.put(dests, links, classicDestination(name, list), nil, membersOf(list))
	}
	u.hostDestinations(dests, links)
	ids := set{}
	for key := range u.services {
		u.claim(links, key, ids)
	}
	u.mesh.links = links.Commit()
	links = u.mesh.links.Txn()
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if s, d := u.mesh.ownerOf(id); s != nil {
			u.put(dests, links, d, s.object, serviceMembers(u.mesh, s, d))
		} else {
			u.drop(dests, links, id)
		}
	}
	u.mesh.dests, u.mesh.links = dests.Commit(), links.Commit()
	if u.fresh {
		return
	}
	for n := range u.names {
		for _, target := range []string{n, anyTarget} {
			for key := range u.mesh.linked(sendsTo, target) {
				if o, ok := u.mesh.objects.Get([]byte(key)); ok {
					u.touchRoute(o.(*routeObject))
				}
			}
		}
		u.wake(anyTarget)
	}
}

// claims links a service object to the ids of its destinations, claimedBy each id
// to the objects: display names may give two objects one id.
const (
	claims    = "claims"
	claimedBy = "claimed-by"
)

// claim brings the links between a service object and its ids up to date, and
// adds the ids that it had or has.
func (u *updater) claim(links *iradix.Txn[string], key string, ids set) {
	for id := range u.mesh.linked(claims, key) {
		ids.add(id)
		links.Delete(linkKey(claims, key, id))
		links.Delete(linkKey(claimedBy, id, key))
	}
	if s, ok := u.mesh.objects.Get([]byte(key)); ok {
		for _, d := range s.(*service).dests {
			ids.add(d.ID)
			links.Insert(linkKey(claims, key, d.ID), d.ID)
			links.Insert(linkKey(claimedBy, d.ID, key), key)
		}
	}
}

// ownerOf finds the object whose destination has the id: the first of those that
// claim it.
func (m *mesh) ownerOf(id string) (*service, *Destination) {
	for key := range m.linked(claimedBy, id) {
		if s, ok := m.objects.Get([]byte(key)); ok {
			s := s.(*service)
			i := slices.IndexFunc(s.dests, func(d *Destination) bool { return d.ID == id })
			return s, s.dests[i]
		}
	}
	return nil, nil
}

// put stores a destination. Where it is equal to the one before only its
// members are new, and what is said about it stays.
func (u *updater) put(dests *iradix.Txn[*dest], links *iradix.Txn[string], d *Destination, o *api.Object, m *members) {
	old, ok := dests.Get([]byte(d.ID))
	n := &dest{Destination: d, object: o, facts: factsOf(d), members: m}
	if ok && same(old.Destination, d) && sameAge(old.object, o) {
		n.Destination, n.subjects = old.Destination, old.subjects
		if same(old.members.list, m.list) && old.members.http2 == m.http2 {
			n.members = old.members
		} else if old.members.http2 != m.http2 {
			u.dests.add(d.ID) // its clusters change
		} else {
			for _, name := range d.names() {
				u.wake(name)
			}
		}
	} else {
		u.dests.add(d.ID)
		u.renamed(d)
		if ok {
			u.renamed(old.Destination)
			unlink(links, old.Destination)
		}
		for _, name := range d.linkNames() {
			links.Insert(linkKey(named, name, d.ID), d.ID)
		}
	}
	u.moved[d.ID] = n
	dests.Insert([]byte(d.ID), n)
}

// sameAge reports whether both objects were created at the same time, which
// decides between objects that a ref means alike.
func sameAge(a, b *api.Object) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Created.Equal(b.Created)
}

func unlink(links *iradix.Txn[string], d *Destination) {
	for _, name := range d.linkNames() {
		links.Delete(linkKey(named, name, d.ID))
	}
}

func (u *updater) drop(dests *iradix.Txn[*dest], links *iradix.Txn[string], id string) {
	if old, ok := dests.Delete([]byte(id)); ok {
		u.renamed(old.Destination)
		unlink(links, old.Destination)
	}
}

func (u *updater) renamed(d *Destination) {
	for _, name := range d.linkNames() {
		u.names.add(name)
	}
}

// classicMembers lists the inbounds of a kuma.io/service.
func classicMembers(m lookup, name string) []member {
	var out []member
	for _, p := range m.carrying(pair(api.TagService, name)) {
		for i := range p.spec.Networking.Inbound {
			if in := &p.spec.Networking.Inbound[i]; in.Tags[api.TagService] == name {
				out = append(out, member{p, in})
			}
		}
	}
	return out
}

// serviceMembers is who answers for one port of a service object.
func serviceMembers(m lookup, s *service, d *Destination) *members {
	switch spec := s.object.Spec.(type) {
	case *api.MeshExternalService:
		out := &members{}
		for _, e := range spec.Endpoints {
			out.list = append(out.list, Endpoint{Address: e.Address, Port: e.Port, Priority: e.Priority})
		}
		return out
	case *api.MeshMultiZoneService:
		return membersOf(multiZoneMembers(m, spec, d.Port))
	case *api.MeshService:
		return membersOf(selectedInbounds(m, spec, d.Port))
	}
	return membersOf(nil)
}

func multiZoneMembers(m lookup, spec *api.MeshMultiZoneService, port uint32) []member {
	var out []member
	for s := range m.meshServices() {
		if gathersService(spec, s) {
			out = append(out, selectedInbounds(m, s.object.Spec.(*api.MeshService), port)...)
		}
	}
	return out
}

// gathersService reports whether a service across zones has the endpoints of s.
func gathersService(spec *api.MeshMultiZoneService, s *service) bool {
	return spec.Selector != nil && spec.Selector.MeshService != nil && s.labels.Carry(spec.Selector.MeshService.MatchLabels)
}

// selectedInbounds lists those behind one port of a MeshService.
func selectedInbounds(m lookup, spec *api.MeshService, port uint32) []member {
	var out []member
	target := gatherTarget(spec.Selector)
	i := slices.IndexFunc(spec.Ports, func(p api.ServicePort) bool { return p.Port == port })
	if target == "" || i < 0 {
		return nil
	}
	for _, p := range m.carrying(target) {
		if !selects(spec.Selector, p) {
			continue
		}
		for n := range p.spec.Networking.Inbound {
			in := &p.spec.Networking.Inbound[n]
			if isTarget(in, &spec.Ports[i]) && matcher.Tags(spec.Selector.DataplaneTags, in.Tags) {
				out = append(out, member{p, in})
			}
		}
	}
	return out
}

// selects asks for what gatherTarget leaves open: it took a name, or one label.
func selects(s *api.ServiceSelector, p *dataplane) bool {
	return s.DataplaneLabels == nil || p.facts.Labels.Carry(s.DataplaneLabels.MatchLabels)
}

// Available reports whether somebody answers for a service object: one of its
// ports has a ready endpoint (spec/kuma.md 1.5).
func (m *Model) Available(ref api.Ref) bool {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return false
	}
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	s, ok := o.(*service)
	return ok && slices.ContainsFunc(s.dests, func(d *Destination) bool {
		at := x.dest(d.ID)
		return at != nil && at.object.Ref == ref && len(at.members.list) > 0
	})
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
