package resolve

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
)

// groupKey names a group of dataplanes whose traffic is redirected: those that reach the
// same hosts of a port as the same classes.
type groupKey struct {
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

func (k groupKey) String() string {
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it holds texts and numbers
	}
	return string(text)
}

func groupOf(text string) (k groupKey) {
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		panic(err) // String wrote it
	}
	return k
}

// hostGroups are the keys of those that a dataplane belongs to, one for each port and
// family.
type hostGroups struct{ keys []string }

// hostGroup is the hosts that the dataplanes of a group reach.
type hostGroup struct{ list []hostCall } // by id

type hostCall struct {
	dest  *services.Destination
	class string
	named bool // see Outbound.Named
}

// groupOutbounds are the outbounds that the dataplanes of a group share, by destination.
type groupOutbounds struct {
	list   []*effective.Outbound
	failed *derive.Failed
}

// addHostGroups derives which hosts the dataplanes with redirection reach, once for all
// that reach the same: each of them is called by all.
func (c *reachabilityStage) addHostGroups() {
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
	c.hostGroups = derive.Derive(c.below.Schema, "groups for hosts", c.below.Dataplanes, derive.Values[hostGroups]{
		Equal: func(a, b *hostGroups) bool { return slices.Equal(a.keys, b.keys) },
	}, func(r *derive.Reader, key string) *hostGroups {
		return c.derived(r).hostGroupsOf(index.Need(c.below.Dataplanes, r, key))
	})
	c.byGroup = c.hostGroups.Group(func(_ string, x *hostGroups, add func(string)) {
		for _, key := range x.keys {
			add(key)
		}
	})
	c.grouped = derive.Derive(c.below.Schema, "hosts of groups", c.byGroup, derive.Values[hostGroup]{
		Equal: func(a, b *hostGroup) bool { return slices.Equal(a.list, b.list) },
	}, func(r *derive.Reader, key string) *hostGroup { return c.derived(r).hostsOfGroup(groupOf(key)) })
	c.groupsByClass = c.grouped.Group(func(_ string, x *hostGroup, add func(string)) {
		for _, h := range x.list {
			add(h.class)
		}
	})
	c.anyClass = derive.Union(c.byClass, c.groupsByClass)
}

// hostGroupsOf are the groups of a dataplane. Where traffic is not redirected, hosts are
// reached by outbounds of their own.
func (m reachabilityMesh) hostGroupsOf(p *index.Dataplane) *hostGroups {
	out, net := &hostGroups{}, p.Spec.Networking
	if net.TransparentProxying == nil || net.Edge() {
		return out
	}
	families := caughtAt(net)
	if len(families) == 0 {
		return out
	}
	for port, all := range m.hostSelectors.All(m.At) {
		number, _ := strconv.ParseUint(port, 10, 16) // FormatUint wrote it
		k := groupKey{Port: uint32(number), Scope: m.groupScope(p, uint32(number)), Bits: all.Bits(p.SelectedBy), Limit: net.TransparentProxying.ReachableBackends}
		if k.Limit != nil {
			k.Home = p.Object.Home()
		}
		for _, k.Address = range families {
			if !slices.ContainsFunc(net.Outbound, func(o api.Outbound) bool { return o.Address == k.Address && o.Port == k.Port }) {
				out.keys = append(out.keys, k.String())
			}
		}
	}
	return out
}

// groupScope is the scope in which a dataplane sees the hosts at a port: that of its namespace
// where that has claims there.
func (m reachabilityMesh) groupScope(p *index.Dataplane, port uint32) string {
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
func (m reachabilityMesh) hostsOfGroup(k groupKey) *hostGroup {
	has := map[string]bool{"": true}
	for i, s := range index.Need(m.hostSelectors, m.At, strconv.FormatUint(uint64(k.Port), 10)).List {
		has[s.Key] = k.Bits[i] == '1'
	}
	out := &hostGroup{}
	for d := range m.HostsSeen(k.Port, k.Scope) {
		if d.Name != api.AnyHost && !d.AtEdgesAlone() && m.reachesHost(&k, d, has) {
			class := m.classWith(d.Key, func(s *matcher.Selector) bool { return has[s.Key] })
			out.list = append(out.list, hostCall{d, class, m.NameTaken(k.Scope, strings.ToLower(d.Name))})
		}
	}
	return out
}

func (m reachabilityMesh) reachesHost(k *groupKey, d *services.Destination, has map[string]bool) bool {
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

// groupsOf are the keys of the groups of a dataplane.
func (m reachabilityMesh) groupsOf(key string) []string {
	x, _ := m.hostGroups.Get(m.At, key)
	if x == nil {
		return nil
	}
	return x.keys
}

// callsHost reports whether a dataplane reaches a host by one of its groups.
func (m reachabilityMesh) callsHost(key string, host api.TargetRef) bool {
	id := index.HostID(host.Name, host.SectionName)
	return slices.ContainsFunc(m.groupsOf(key), func(group string) bool {
		g, _ := m.grouped.Get(m.At, group)
		if g == nil {
			return false
		}
		i, ok := slices.BinarySearchFunc(g.list, id, func(h hostCall, id string) int { return strings.Compare(h.dest.ID, id) })
		return ok && matcher.Claims(host, &g.list[i].dest.Facts)
	})
}
