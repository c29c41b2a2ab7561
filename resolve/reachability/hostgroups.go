package reachability

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
)

// HostGroupKey names a group of dataplanes whose traffic is redirected: those that reach the
// same hosts of a port as the same classes.
type HostGroupKey struct {
	Port    uint32
	Scope   string `json:",omitempty"` // in which they see hosts
	Address string // where redirected connections to any address of the family arrive
	// Bits has a digit for each selector of hostSelectors.
	Bits string
	// Families is the ipFamilyMode of who reaches virtual addresses.
	Families string `json:",omitempty"`
	// Limit, written in namespace Home, is which backends they reach; nil is all.
	Limit *api.ReachableBackends `json:",omitempty"`
	Home  api.Home               `json:",omitzero"`
}

// String is the group as the key of a collection, which GroupOf reads.
func (k HostGroupKey) String() string {
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it holds texts and numbers
	}
	return string(text)
}

// GroupOf is the group that String wrote.
func GroupOf(text string) (k HostGroupKey) {
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		panic(err) // String wrote it
	}
	return k
}

// HostGroups are the keys of those that a dataplane belongs to, one for each port and
// family.
type HostGroups struct{ Keys []string }

// HostGroup is the hosts that the dataplanes of a group reach.
type HostGroup struct{ List []HostCall } // by id

// HostCall is one host of a group, and the class of the dataplanes of the group there.
type HostCall struct {
	Dest  *services.Destination
	Class string
	Named bool // see Outbound.Named
}

// addHostGroups derives which hosts the dataplanes with redirection reach, once for all
// that reach the same: each of them is called by all.
func (c *Stage) addHostGroups() {
	byPort := c.below.Destinations.Index(func(_ string, d *services.Destination, add func(string)) {
		if d.Kind == api.KindHost && d.Name != api.AnyHost && !d.AtEdgesAlone() {
			add(strconv.FormatUint(uint64(d.Port), 10))
		}
	})
	c.hostSelectors = derive.Derive(c.below.Schema, "selectors of hosts", byPort, derive.Values[routing.Selectors]{Equal: (*routing.Selectors).Equal},
		func(r *derive.Reader, port string) *routing.Selectors {
			byKey := map[string]*matcher.Selector{}
			for d := range byPort.Values(r, port) {
				if s, _ := c.below.Selectors.Get(r, d.Key); s != nil {
					for _, x := range s.List {
						byKey[x.Key] = x
					}
				}
			}
			return &routing.Selectors{List: routing.SortedSelectors(byKey)}
		})
	c.HostGroups = derive.Derive(c.below.Schema, "groups for hosts", c.below.Dataplanes, derive.Values[HostGroups]{
		Equal: func(a, b *HostGroups) bool { return slices.Equal(a.Keys, b.Keys) },
	}, func(r *derive.Reader, key string) *HostGroups {
		return c.Mesh(r).hostGroupsOf(index.Need(c.below.Dataplanes, r, key))
	})
	c.byGroup = c.HostGroups.Group(func(_ string, x *HostGroups, add func(string)) {
		for _, key := range x.Keys {
			add(key)
		}
	})
	c.HostsOfGroups = derive.Derive(c.below.Schema, "hosts of groups", c.byGroup, derive.Values[HostGroup]{
		Equal: func(a, b *HostGroup) bool { return slices.Equal(a.List, b.List) },
	}, func(r *derive.Reader, key string) *HostGroup { return c.Mesh(r).hostsOfGroup(GroupOf(key)) })
	c.groupsByClass = c.HostsOfGroups.Group(func(_ string, x *HostGroup, add func(string)) {
		for _, h := range x.List {
			add(h.Class)
		}
	})
	c.AnyClass = derive.Union(c.byClass, c.groupsByClass)
}

// hostGroupsOf are the groups of a dataplane. Where traffic is not redirected, hosts are
// reached by outbounds of their own.
func (m Mesh) hostGroupsOf(p *index.Dataplane) *HostGroups {
	out, net := &HostGroups{}, p.Spec.Networking
	if net.TransparentProxying == nil || net.Edge() {
		return out
	}
	families := caughtAt(net)
	if len(families) == 0 {
		return out
	}
	for port, all := range m.hostSelectors.All(m.At) {
		number, _ := strconv.ParseUint(port, 10, 16) // FormatUint wrote it
		k := HostGroupKey{Port: uint32(number), Scope: m.groupScope(p, uint32(number)), Bits: all.Bits(p.SelectedBy), Limit: net.TransparentProxying.ReachableBackends}
		if k.Limit != nil {
			k.Home = p.Object.Home()
		}
		for _, k.Address = range families {
			if !slices.ContainsFunc(net.Outbound, func(o api.Outbound) bool { return o.Address == k.Address && o.Port == k.Port }) {
				out.Keys = append(out.Keys, k.String())
			}
		}
	}
	return out
}

// groupScope is the scope in which a dataplane sees the hosts at a port: that of its namespace
// where that has claims there.
func (m Mesh) groupScope(p *index.Dataplane, port uint32) string {
	scope := m.HostScope(p)
	if scope != index.ScopeAll && m.DestinationsByName.Len(m.At, index.HostsAt(port, scope)) == 0 {
		return index.ScopeCommon
	}
	return scope
}

// caughtAt are the addresses that stand for all of the families in which calls to hosts
// are looked at: those that are redirected and in which the dataplane says its own
// address, by which a call of others to it is told from its own.
func caughtAt(net *api.Networking) []string {
	var out []string
	own := slices.Collect(net.Addresses())
	for _, all := range net.TransparentProxying.Families() {
		if slices.ContainsFunc(own, func(ip netip.Addr) bool { return ip.Is4() == all.Is4() }) {
			out = append(out, all.String())
		}
	}
	return out
}

// hostsOfGroup are the hosts that the dataplanes of a group reach: those of which a route
// says something to them, and with a limit those one of whose backends it names.
func (m Mesh) hostsOfGroup(k HostGroupKey) *HostGroup {
	has := map[string]bool{"": true}
	for i, s := range index.Need(m.hostSelectors, m.At, strconv.FormatUint(uint64(k.Port), 10)).List {
		has[s.Key] = k.Bits[i] == '1'
	}
	out := &HostGroup{}
	for d := range m.HostsSeen(k.Port, k.Scope) {
		if d.Name != api.AnyHost && !d.AtEdgesAlone() && m.reachesHost(&k, d, has) {
			class := m.classWith(d.Key, func(s *matcher.Selector) bool { return has[s.Key] })
			out.List = append(out.List, HostCall{d, class, m.NameTaken(k.Scope, strings.ToLower(d.Name))})
		}
	}
	return out
}

func (m Mesh) reachesHost(k *HostGroupKey, d *services.Destination, has map[string]bool) bool {
	said, _ := m.Routing.Get(m.At, d.Key)
	if said == nil {
		return k.Limit == nil // it fails alike for all
	}
	return slices.ContainsFunc(said.Contributions, func(c *index.Contribution) bool {
		if !has[c.Selector().Key] || k.Limit == nil {
			return has[c.Selector().Key]
		}
		for i := range c.Entry.Rules {
			for _, ref := range c.Entry.Rules[i].Backends {
				if to, _ := m.FindBackend(ref); to != nil && reachable(k.Limit, k.Home, to) {
					return true
				}
			}
		}
		return false
	})
}

// GroupsOf are the keys of the groups of a dataplane.
func (m Mesh) GroupsOf(key string) []string {
	x, _ := m.HostGroups.Get(m.At, key)
	if x == nil {
		return nil
	}
	return x.Keys
}

// CallsHost reports whether a dataplane reaches a host by one of its groups.
func (m Mesh) CallsHost(key string, host api.TargetRef) bool {
	id := index.HostID(host.Name, host.SectionName)
	return slices.ContainsFunc(m.GroupsOf(key), func(group string) bool {
		g, _ := m.HostsOfGroups.Get(m.At, group)
		if g == nil {
			return false
		}
		i, ok := slices.BinarySearchFunc(g.List, id, func(h HostCall, id string) int { return strings.Compare(h.Dest.ID, id) })
		return ok && matcher.Claims(host, &g.List[i].Dest.Facts)
	})
}
