package reachability

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

// Call is one destination that a dataplane calls at an address.
type Call struct {
	Address    string
	Port       uint32
	Index      int32                   // in networking.outbound; -1 for what a virtual address reaches
	Dest       *services.Destination   // nil where the ref leads nowhere
	Unresolved *services.UnresolvedRef // beside a destination that is Listed too
	Edge       bool                    // at a listener of an edge dataplane
	Passes     bool                    // by a group: see Outbound.Passthrough
	Named      bool                    // see Outbound.Named
}

func (c Call) equal(o Call) bool {
	return c.Address == o.Address && c.Port == o.Port && c.Dest == o.Dest && c.Index == o.Index && c.Edge == o.Edge && c.Passes == o.Passes && derive.Same(c.Unresolved, o.Unresolved)
}

// callsOf lists what a dataplane reaches (spec/contract.md 8): what its outbounds name
// and, with transparent proxying, every destination at its virtual addresses.
// Of two at one address the first holds.
func (m Mesh) callsOf(p *index.Dataplane) []Call {
	out := make([]Call, 0, len(p.Spec.Networking.Outbound))
	taken := map[string]bool{}
	add := func(c Call) {
		at := c.at()
		host := c.Dest != nil && c.Dest.Kind == api.KindHost // many have one address
		if host {
			at += " hosts"
		}
		if c.Dest != nil && taken[at] && c.Dest.Above != nil {
			return // a pod of two headless Services: what is said about the first holds
		}
		if c.Dest != nil && taken[at] && !host {
			c.conflicts(at)
		}
		if c.Dest != nil {
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
		add(m.callOf(p, i))
	}
	m.edgeCalls(p, add)
	if net.TransparentProxying == nil {
		return out
	}
	k := reachOf(p)
	everybodys, apart := index.Need(m.reached, m.At, k.String()).List, m.callsApart(p, k)
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
func reachOf(p *index.Dataplane) HostGroupKey {
	t := p.Spec.Networking.TransparentProxying
	k := HostGroupKey{Families: t.IPFamilyMode, Limit: t.ReachableBackends}
	if k.Limit != nil {
		k.Home = p.Object.Home()
	}
	return k
}

// callsWithin are the calls to virtual addresses of all who reach the same, once for all of
// them. Of two destinations at one address the first holds.
func (m Mesh) callsWithin(k HostGroupKey) (out []Call) {
	taken, redirected := map[string]bool{}, api.TransparentProxying{IPFamilyMode: k.Families}
	for d := range m.VirtualDestinations.Values(m.At, index.Any) {
		if d.Apart() || !reachable(k.Limit, k.Home, d) {
			continue
		}
		for _, vip := range d.VIPs {
			if !redirected.Redirects(vip) {
				continue // nobody would come to a listener there
			}
			c := Call{Address: vip, Port: d.VirtualPort(), Index: -1, Dest: d}
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
func (m Mesh) callsApart(p *index.Dataplane, k HostGroupKey) (out []Call) {
	for d := range m.DestinationsApart.Values(m.At, index.Any) {
		if !reachable(k.Limit, k.Home, d) || d.Outside && !m.hasRouteFor(p, d) {
			continue
		}
		for _, vip := range d.VIPs {
			if p.Spec.Networking.TransparentProxying.Redirects(vip) && (d.Above == nil || !p.IsAt(vip)) { // itself, which its traffic reaches without the sidecar
				out = append(out, Call{Address: vip, Port: d.VirtualPort(), Index: -1, Dest: d})
			}
		}
	}
	return out
}

// at is the address of a call, as one text.
func (c *Call) at() string { return c.Address + " " + services.PortText(c.Port, "") }

// conflicts makes a call one that leads nowhere, since another has its address.
func (c *Call) conflicts(at string) {
	c.Unresolved = services.Unresolved(api.CodeConflicted, "another outbound has the address %s; give each its own", strings.ReplaceAll(at, " ", ":"))
	c.Dest = nil
}

// hasRouteFor reports whether a route says something about d to p.
func (m Mesh) hasRouteFor(p *index.Dataplane, d *services.Destination) bool {
	said, _ := m.Routing.Get(m.At, d.Key)
	return said != nil && slices.ContainsFunc(said.Contributions, func(c *index.Contribution) bool { return c.Selector().Selects(&p.Facts) })
}

func reachable(limit *api.ReachableBackends, home api.Home, d *services.Destination) bool {
	if limit == nil {
		return true
	}
	for _, ref := range limit.Refs {
		if matcher.Destination(OutboundTarget(ref), home, &d.Facts) && (ref.Port == nil || *ref.Port == d.Port) {
			return true
		}
	}
	return false
}

// OutboundTarget is the ref of an outbound as a targetRef.
func OutboundTarget(ref api.OutboundRef) api.TargetRef {
	return api.TargetRef{Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace, Labels: ref.Labels}
}

// callOf resolves one outbound, which does not lead to hosts.
func (m Mesh) callOf(p *index.Dataplane, i int) Call {
	o := &p.Spec.Networking.Outbound[i]
	c := Call{Address: cmp.Or(o.Address, "127.0.0.1"), Port: o.Port, Index: int32(i)}
	ref, port := api.TargetRef{Kind: api.KindMeshService, Name: o.Tags[api.TagService]}, uint32(0)
	if o.BackendRef != nil {
		ref = OutboundTarget(*o.BackendRef)
		if o.BackendRef.Port != nil {
			port = *o.BackendRef.Port
		}
	}
	var listed *services.Destination
	if o.BackendRef == nil {
		if d := m.Destination(index.ClassicID(ref.Name)); d != nil && d.Facts.Classic && !d.Listed {
			c.Dest = d
			return c
		} else if d != nil && d.Listed {
			listed = d
		}
	}
	if c.Dest, c.Unresolved = m.FindBackend(route.BackendRef{Target: ref, Port: port, Home: p.Object.Home()}); c.Dest == nil && c.Unresolved.Code == "BackendNotFound" {
		c.Dest = listed // its routes do what they say, and it may come back
	}
	return c
}

// Field is where the dataplane p names what it calls; empty where it does not.
func (c *Call) Field(p *index.Dataplane) api.Path {
	if c.Index < 0 {
		return ""
	}
	at := api.Path("networking.outbound").Index(int(c.Index))
	if p.Spec.Networking.Outbound[c.Index].BackendRef != nil {
		return at.Field("backendRef")
	}
	return at
}

func (c *Stage) addCalls() {
	c.byReach = c.below.Dataplanes.Group(func(_ string, p *index.Dataplane, add func(string)) {
		if p.Spec.Networking.TransparentProxying != nil {
			add(reachOf(p).String())
		}
	})
	c.reached = derive.Derive(c.below.Schema, "destinations reached", c.byReach, derive.Values[Calls]{Equal: (*Calls).equal},
		func(r *derive.Reader, key string) *Calls {
			return newCalls(c.Mesh(r).callsWithin(GroupOf(key)), true)
		})
	c.Calls = derive.Derive(c.below.Schema, "calls", c.below.Dataplanes, derive.Values[Calls]{Equal: (*Calls).equal, Hash: func(x *Calls) uint64 { return x.Hash }}, func(r *derive.Reader, key string) *Calls {
		p := index.Need(c.below.Dataplanes, r, key)
		return newCalls(c.Mesh(r).callsOf(p), p.Spec.Networking.TransparentProxying != nil)
	})
	c.ClassesCalled = derive.Derive(c.below.Schema, "classes held", c.Calls, derive.Values[Classes]{
		Equal: func(a, b *Classes) bool { return slices.Equal(a.Classes, b.Classes) },
		Hash:  func(x *Classes) uint64 { return x.Hash },
	}, func(r *derive.Reader, key string) *Classes {
		p, list := index.Need(c.below.Dataplanes, r, key), index.Need(c.Calls, r, key).List
		out := &Classes{Classes: make([]string, len(list))}
		for i := range list {
			if d := list[i].Dest; d != nil {
				out.Classes[i] = c.Mesh(r).ClassOf(d.Key, p)
			}
		}
		out.Hash = derive.Mix(derive.HashBasis, out.Classes...)
		return out
	})
	c.byClass = c.ClassesCalled.Group(func(_ string, x *Classes, add func(string)) {
		for _, key := range x.Classes {
			if key != "" {
				add(key)
			}
		}
	})
}

// Calls is what a dataplane calls.
type Calls struct {
	List []Call
	Hash uint64
	// Redirected says that the traffic of who calls is redirected: others listen otherwise.
	Redirected bool
}

// equal reports equal lists, which as a rule are one.
func (c *Calls) equal(o *Calls) bool {
	return c.Redirected == o.Redirected && len(c.List) == len(o.List) && (len(c.List) == 0 || &c.List[0] == &o.List[0] || slices.EqualFunc(c.List, o.List, Call.equal))
}

// newCalls knows the hash of list, which others ask for as often as a table changes. The hash leaves out
// what is said of what leads nowhere.
func newCalls(list []Call, redirected bool) *Calls {
	h := uint64(derive.HashBasis)
	for i := range list {
		x := &list[i]
		if h = derive.Mix(h, x.Address) ^ uint64(x.Port)<<32 ^ uint64(x.Index); x.Dest != nil {
			h = derive.Mix(h, x.Dest.Key)
		}
	}
	return &Calls{list, h, redirected}
}

// Classes is the class that a dataplane belongs to for each destination that it
// calls, in the order of its calls; empty for what leads nowhere.
type Classes struct {
	Classes []string
	Hash    uint64
}

// hostCalls adds those to all hosts at the port that the outbound of an index names.
func (m Mesh) hostCalls(o *api.Outbound, index int32, scope string, add func(Call)) {
	for d := range m.HostsSeen(o.Hosts.Port, scope) {
		if d.AtEdgesAlone() {
			continue
		}
		add(Call{Address: cmp.Or(o.Address, "127.0.0.1"), Port: o.Port, Index: index, Dest: d})
	}
}
