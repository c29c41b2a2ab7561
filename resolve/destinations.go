package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// addDestinations derives what can be called, and who answers for it.
func (c *servicesStage) addDestinations() {
	c.dests = derive.Derive(c.below.Schema, "destinations", derive.Union(c.below.ServicesByID, c.below.DataplanesByClassic, c.below.DataplanesListing, c.below.RoutesByHost, c.below.RoutesByAddress), derive.Values[dest]{
		Equal: func(a, b *dest) bool { return derive.Same(a.Destination, b.Destination) && sameAge(a.object, b.object) },
	}, func(r *derive.Reader, id string) *dest {
		made := c.derived(r).destination(id)
		if made != nil {
			made.reuse(c.dests.Before(r))
		}
		return made
	})
	c.destsByName = c.dests.Index(func(_ string, d *dest, add func(string)) {
		for _, n := range d.linkNames() {
			add(n)
		}
	})
	c.destsByAbove = c.dests.Index(func(_ string, d *dest, add func(string)) {
		for _, n := range d.HostsAbove() {
			add(n)
		}
	})
	c.destsVirtual = c.dests.Index(func(_ string, d *dest, add func(string)) {
		if len(d.VIPs) > 0 {
			add(index.Any)
		}
	})
	c.destsByHostname = c.dests.Index(func(_ string, d *dest, add func(string)) {
		// A service outside the mesh is the cluster's DNS's to name: that somebody has a route for
		// it must not give its name, nor take another's, where callers have none. One without an
		// address keeps its name from routes of other namespaces all the same (spec/threats.md T10).
		// A classic service gives way to the hosts of routes: whoever has a dataplane may claim its tag.
		if (len(d.VIPs) > 0 || d.object != nil) && !d.facts.Classic && !d.Outside && d.Kind != api.KindHost {
			for _, name := range d.Hostnames {
				add(strings.ToLower(name))
			}
		}
	})
	c.destsApart = c.dests.Index(func(_ string, d *dest, add func(string)) {
		if len(d.VIPs) > 0 && d.apart() {
			add(index.Any)
		}
	})
	c.members = derive.Derive(c.below.Schema, "members", c.dests, derive.Values[members]{
		Equal: func(a, b *members) bool {
			return a.http2 == b.http2 && derive.Same(a.list, b.list) && derive.Same(a.peers, b.peers) && slices.Equal(a.left, b.left) && a.idle.is(b.idle)
		},
	}, func(r *derive.Reader, id string) *members {
		d, m := index.Need(c.dests, r, id), c.derived(r)
		made := m.membersOf(d)
		waiting := made.waiting
		made = m.withPeers(made)
		made.idle = idleOf(d, made, waiting)
		return made
	})
	c.membersIdle = c.members.Index(func(_ string, m *members, add func(string)) {
		if m.idle != nil {
			add(index.Any)
		}
	})
}

func (m servicesMesh) destination(id string) *dest {
	if s, d := m.OwnerOf(id); s != nil {
		there := *d
		there.Outside = m.IsOutside(s.Object)
		if s.Virtual() {
			there.VIPs = m.VipsOf(s)
		}
		there.Hostnames = m.WithGenerated(s, d.Hostnames)
		d = &there
		return newDest(d, s.Object, id)
	}
	d := m.hostOf(id)
	if d == nil {
		d = m.AddressOf(id)
	}
	if d == nil {
		name := index.ClassicName(id)
		d = classicDestination(name, m.classicMembers(name))
		d.VIPs = m.ClassicVIPs(id)
	}
	return newDest(d, nil, id)
}

// membersOf asks for the object anew: that of an equal destination may be older.
func (m servicesMesh) membersOf(d *dest) *members {
	switch {
	case d.Kind == api.KindHost:
		return &members{}
	case d.Kind == api.KindAddress:
		return externalMembers(d.External)
	case d.facts.Classic:
		return membersOf(m.classicMembers(d.Name))
	}
	s, at := m.OwnerOf(d.ID)
	return m.serviceMembers(s, at)
}

// hostOf is the host at a port that has the id, if a route serves it. It is for clients
// that speak TLS alone if all who serve it say so, and for connections alone likewise.
func (m servicesMesh) hostOf(key string) *effective.Destination {
	var found *effective.Destination
	id, scope := index.CutScope(key)
	for r := range m.Claiming(id, scope) {
		for d := range index.HostsOf(r, id) {
			switch {
			case !d.AtEdgesAlone():
				return d
			case found == nil || found.Protocol == api.TCP || d.Protocol != api.TCP && len(found.TLS.Secrets) == 0:
				found = d
			}
		}
	}
	return found
}

// sameAge reports whether both objects were created at the same time, which
// decides between objects that a ref means alike.
func sameAge(a, b *api.Object) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Created.Equal(b.Created)
}
