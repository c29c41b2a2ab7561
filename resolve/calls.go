package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// call is one destination that a dataplane calls at an address.
type call struct {
	address string
	port    uint32
	index   int32                 // in networking.outbound; -1 for what a virtual address reaches
	dest    *services.Destination // nil where the ref leads nowhere
	lost    *services.LostRef     // beside a destination that is Listed too
	edge    bool                  // at a listener of an edge dataplane
	passes  bool                  // by a group: see Outbound.Passthrough
	named   bool                  // see Outbound.Named
}

func (c call) equal(o call) bool {
	return c.address == o.address && c.port == o.port && c.dest == o.dest && c.index == o.index && c.edge == o.edge && c.passes == o.passes && derive.Same(c.lost, o.lost)
}

// callsOf lists what a dataplane reaches (spec/contract.md 8): what its outbounds name
// and, with transparent proxying, every destination at its virtual addresses.
// Of two at one address the first holds.
func (m reachabilityMesh) callsOf(p *index.Dataplane) []call {
	out := make([]call, 0, len(p.Spec.Networking.Outbound))
	taken := map[string]bool{}
	add := func(c call) {
		at := c.at()
		host := c.dest != nil && c.dest.Kind == api.KindHost // many have one address
		if host {
			at += " hosts"
		}
		if c.dest != nil && taken[at] && c.dest.Above != nil {
			return // a pod of two headless Services: what is said about the first holds
		}
		if c.dest != nil && taken[at] && !host {
			c.conflicts(at)
		}
		if c.dest != nil {
			taken[at] = true
		}
		out = append(out, c)
	}
	net := p.Spec.Networking
	for i := range net.Outbound {
		if o := &net.Outbound[i]; o.Hosts != nil {
			m.hostCalls(o, int32(i), m.HostScope(p), add)
			continue
		}
		add(m.call(p, i))
	}
	m.edgeCalls(p, add)
	if net.TransparentProxying == nil {
		return out
	}
	k := reachOf(p)
	everybodys, apart := index.Need(m.reached, m.At, k.String()).list, m.callsApart(p, k)
	if len(out) == 0 && len(apart) == 0 {
		return everybodys
	}
	for _, c := range everybodys {
		add(c)
	}
	for _, c := range apart {
		add(c)
	}
	return out
}

// reach is what tells apart which virtual addresses dataplanes reach.
func reachOf(p *index.Dataplane) groupKey {
	t := p.Spec.Networking.TransparentProxying
	k := groupKey{Families: t.IPFamilyMode, Limit: t.ReachableBackends}
	if k.Limit != nil {
		k.Home = p.Object.Home()
	}
	return k
}

// callsWithin are the calls to virtual addresses of all who reach the same, once for all of
// them. Of two destinations at one address the first holds.
func (m reachabilityMesh) callsWithin(k groupKey) (out []call) {
	taken, redirected := map[string]bool{}, api.TransparentProxying{IPFamilyMode: k.Families}
	for d := range m.VirtualDestinations.Values(m.At, index.Any) {
		if d.Apart() || !reachable(k.Limit, k.Home, d) {
			continue
		}
		for _, vip := range d.VIPs {
			if !redirected.Redirects(vip) {
				continue // nobody would come to a listener there
			}
			c := call{address: vip, port: d.VirtualPort(), index: -1, dest: d}
			if at := c.at(); taken[at] {
				c.conflicts(at)
			} else {
				taken[at] = true
			}
			out = append(out, c)
		}
	}
	return out
}

// callsApart are the calls of a dataplane to virtual addresses that not everybody reaches
// alike.
func (m reachabilityMesh) callsApart(p *index.Dataplane, k groupKey) (out []call) {
	for d := range m.DestinationsApart.Values(m.At, index.Any) {
		if !reachable(k.Limit, k.Home, d) || d.Outside && !m.hasRouteFor(p, d) {
			continue
		}
		for _, vip := range d.VIPs {
			if p.Spec.Networking.TransparentProxying.Redirects(vip) && (d.Above == nil || !p.IsAt(vip)) { // itself, which its traffic reaches without the sidecar
				out = append(out, call{address: vip, port: d.VirtualPort(), index: -1, dest: d})
			}
		}
	}
	return out
}

// at is the address of a call, as one text.
func (c *call) at() string { return c.address + " " + services.PortText(c.port, "") }

// conflicts makes a call one that leads nowhere, since another has its address.
func (c *call) conflicts(at string) {
	c.lost = services.Lost(api.CodeConflicted, "another outbound has the address %s; give each its own", strings.ReplaceAll(at, " ", ":"))
	c.dest = nil
}

// hasRouteFor reports whether a route says something about d to p.
func (m reachabilityMesh) hasRouteFor(p *index.Dataplane, d *services.Destination) bool {
	said, _ := m.Routing.Get(m.At, d.Key)
	return said != nil && slices.ContainsFunc(said.Contributions, func(c *index.Contribution) bool { return c.Selector().Selects(&p.Facts) })
}

func reachable(limit *api.ReachableBackends, home api.Home, d *services.Destination) bool {
	if limit == nil {
		return true
	}
	for _, ref := range limit.Refs {
		if matcher.Destination(outboundTarget(ref), home, &d.Facts) && (ref.Port == nil || *ref.Port == d.Port) {
			return true
		}
	}
	return false
}

func outboundTarget(ref api.OutboundRef) api.TargetRef {
	return api.TargetRef{Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace, Labels: ref.Labels}
}

// call resolves one outbound, which does not lead to hosts.
func (m reachabilityMesh) call(p *index.Dataplane, i int) call {
	o := &p.Spec.Networking.Outbound[i]
	c := call{address: cmp.Or(o.Address, "127.0.0.1"), port: o.Port, index: int32(i)}
	ref, port := api.TargetRef{Kind: api.KindMeshService, Name: o.Tags[api.TagService]}, uint32(0)
	if o.BackendRef != nil {
		ref = outboundTarget(*o.BackendRef)
		if o.BackendRef.Port != nil {
			port = *o.BackendRef.Port
		}
	}
	var listed *services.Destination
	if o.BackendRef == nil {
		if d := m.Destination(index.ClassicID(ref.Name)); d != nil && d.Facts.Classic && !d.Listed {
			c.dest = d
			return c
		} else if d != nil && d.Listed {
			listed = d
		}
	}
	if c.dest, c.lost = m.FindBackend(route.BackendRef{Target: ref, Port: port, Home: p.Object.Home()}); c.dest == nil && c.lost.Code == "BackendNotFound" {
		c.dest = listed // its routes do what they say, and it may come back
	}
	return c
}

// field is where the dataplane p names what it calls; empty where it does not.
func (c *call) field(p *index.Dataplane) api.Path {
	if c.index < 0 {
		return ""
	}
	at := api.Path("networking.outbound").Index(int(c.index))
	if p.Spec.Networking.Outbound[c.index].BackendRef != nil {
		return at.Field("backendRef")
	}
	return at
}

func (c *reachabilityStage) addCalls() {
	c.byReach = c.below.Dataplanes.Group(func(_ string, p *index.Dataplane, add func(string)) {
		if p.Spec.Networking.TransparentProxying != nil {
			add(reachOf(p).String())
		}
	})
	c.reached = derive.Derive(c.below.Schema, "destinations reached", c.byReach, derive.Values[calls]{Equal: (*calls).equal},
		func(r *derive.Reader, key string) *calls {
			return newCalls(c.derived(r).callsWithin(groupOf(key)), true)
		})
	c.calls = derive.Derive(c.below.Schema, "calls", c.below.Dataplanes, derive.Values[calls]{Equal: (*calls).equal, Hash: func(x *calls) uint64 { return x.hash }}, func(r *derive.Reader, key string) *calls {
		p := index.Need(c.below.Dataplanes, r, key)
		return newCalls(c.derived(r).callsOf(p), p.Spec.Networking.TransparentProxying != nil)
	})
	c.called = derive.Derive(c.below.Schema, "classes held", c.calls, derive.Values[called]{
		Equal: func(a, b *called) bool { return slices.Equal(a.classes, b.classes) },
		Hash:  func(x *called) uint64 { return x.hash },
	}, func(r *derive.Reader, key string) *called {
		p, list := index.Need(c.below.Dataplanes, r, key), index.Need(c.calls, r, key).list
		out := &called{classes: make([]string, len(list))}
		for i := range list {
			if d := list[i].dest; d != nil {
				out.classes[i] = c.derived(r).classOf(d.Key, p)
			}
		}
		out.hash = derive.Mix(derive.HashBasis, out.classes...)
		return out
	})
	c.byClass = c.called.Group(func(_ string, x *called, add func(string)) {
		for _, key := range x.classes {
			if key != "" {
				add(key)
			}
		}
	})
}
