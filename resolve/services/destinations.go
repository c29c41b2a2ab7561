package services

import (
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// addDestinations derives what can be called, and who answers for it.
func (c *Stage) addDestinations() {
	c.Destinations = derive.Derive(c.below.Schema, "destinations", derive.Union(c.below.ServicesByID, c.below.DataplanesByClassic, c.below.DataplanesListing, c.below.RoutesByHost, c.below.RoutesByAddress), derive.Values[Destination]{
		Equal: func(a, b *Destination) bool {
			return derive.Same(a.Destination, b.Destination) && sameAge(a.Object, b.Object)
		},
	}, func(r *derive.Reader, id string) *Destination {
		made := c.Mesh(r).destination(id)
		if made != nil {
			made.reuse(c.Destinations.Before(r))
		}
		return made
	})
	c.DestinationsByName = c.Destinations.Index(func(_ string, d *Destination, add func(string)) {
		for _, n := range d.LinkNames() {
			add(n)
		}
	})
	c.destsByAbove = c.Destinations.Index(func(_ string, d *Destination, add func(string)) {
		for _, n := range d.HostsAbove() {
			add(n)
		}
	})
	c.VirtualDestinations = c.Destinations.Index(func(_ string, d *Destination, add func(string)) {
		if len(d.VIPs) > 0 {
			add(index.Any)
		}
	})
	c.DestinationsByHostname = c.Destinations.Index(func(_ string, d *Destination, add func(string)) {
		// A service outside the mesh is the cluster's DNS's to name: that somebody has a route for
		// it must not give its name, nor take another's, where callers have none. One without an
		// address keeps its name from routes of other namespaces all the same (spec/threats.md T10).
		// A classic service gives way to the hosts of routes: whoever has a dataplane may claim its tag.
		if (len(d.VIPs) > 0 || d.Object != nil) && !d.Facts.Classic && !d.Outside && d.Kind != api.KindHost {
			for _, name := range d.Hostnames {
				add(strings.ToLower(name))
			}
		}
	})
	c.DestinationsApart = c.Destinations.Index(func(_ string, d *Destination, add func(string)) {
		if len(d.VIPs) > 0 && d.Apart() {
			add(index.Any)
		}
	})
	c.Members = derive.Derive(c.below.Schema, "members", c.Destinations, derive.Values[Members]{
		Equal: func(a, b *Members) bool {
			return a.HTTP2 == b.HTTP2 && derive.Same(a.List, b.List) && derive.Same(a.Peers, b.Peers) && slices.Equal(a.Left, b.Left) && a.idle.is(b.idle)
		},
	}, func(r *derive.Reader, id string) *Members {
		d, m := index.Need(c.Destinations, r, id), c.Mesh(r)
		made := m.MembersOf(d)
		waiting := made.Waiting
		made = m.withPeers(made)
		made.idle = idleOf(d, made, waiting)
		return made
	})
	c.MembersIdle = c.Members.Index(func(_ string, m *Members, add func(string)) {
		if m.idle != nil {
			add(index.Any)
		}
	})
}

func (m Mesh) destination(id string) *Destination {
	if s, d := m.OwnerOf(id); s != nil {
		there := *d
		there.Outside = m.IsOutside(s.Object)
		if s.Virtual() {
			there.VIPs = m.VIPsOf(s)
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

// MembersOf asks for the object anew: that of an equal destination may be older.
func (m Mesh) MembersOf(d *Destination) *Members {
	switch {
	case d.Kind == api.KindHost:
		return &Members{}
	case d.Kind == api.KindAddress:
		return externalMembers(d.External)
	case d.Facts.Classic:
		return membersOf(m.classicMembers(d.Name))
	}
	s, at := m.OwnerOf(d.ID)
	return m.serviceMembers(s, at)
}

// hostOf is the host at a port that has the id, if a route serves it. It is for clients
// that speak TLS alone if all who serve it say so, and for connections alone likewise.
func (m Mesh) hostOf(key string) *effective.Destination {
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

// Destination is the destination with that id; nil where there is none.
func (m Mesh) Destination(id string) *Destination {
	d, _ := m.Destinations.Get(m.At, id)
	return d
}

// DestinationsNamed yields the destinations that a ref by that name may mean, by id: all
// of them where the name is index.Any.
func (m Mesh) DestinationsNamed(name string) iter.Seq[*Destination] {
	if name == index.Any {
		return m.Destinations.Values(m.At)
	}
	return m.DestinationsByName.Values(m.At, name)
}

// DestinationsOf yields the destinations that an entry of a route may mean.
func (m Mesh) DestinationsOf(e *route.Entry) iter.Seq[*Destination] {
	if e.To.Kind == "" {
		return func(func(*Destination) bool) {}
	}
	return m.DestinationsNamed(index.TargetName(e.To))
}
