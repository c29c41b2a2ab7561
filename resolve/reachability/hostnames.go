package reachability

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/resolve/vips"
)

// addressed are the destinations that have virtual addresses, and so names for all.
type addressed struct{ list []*services.Destination }

// addHostnames derives who may call the same. What they may call is worked out when somebody
// asks: names are told to sidecars with a resolver alone.
func (c *Stage) addHostnames() {
	c.HostnamesKeys = derive.Derive(c.below.Schema, "who calls by which names", c.below.Dataplanes, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(r *derive.Reader, key string) *string {
			p := index.Need(c.below.Dataplanes, r, key)
			net := p.Spec.Networking
			if net.TransparentProxying == nil {
				return nil
			}
			k := Caller{Home: p.Object.Home(), Families: net.TransparentProxying.IPFamilyMode, Limit: net.TransparentProxying.ReachableBackends, Groups: c.Mesh(r).GroupsOf(key)}
			text, err := json.Marshal(k)
			if err != nil {
				panic(err) // it holds texts and numbers
			}
			return new(string(text))
		})
	c.destsAddressed = derive.Derive(c.below.Schema, "what names lead to", c.below.VirtualDestinations, derive.Values[addressed]{
		Equal: func(a, b *addressed) bool { return slices.Equal(a.list, b.list) },
	}, func(r *derive.Reader, key string) *addressed {
		return &addressed{slices.Collect(c.below.VirtualDestinations.Values(r, key))}
	})
	c.HostnamesCallers = c.HostnamesKeys.Index(func(_ string, _ *string, add func(string)) { add(index.Any) })
}

// namesRead are pointers to all that the names for callers follow from: the values behind
// them never change.
func (m Mesh) namesRead(k *Caller) []any {
	all, _ := m.destsAddressed.Get(m.At, index.Any)
	out := []any{all}
	for _, group := range k.Groups {
		hosts, _ := m.HostsOfGroups.Get(m.At, group)
		out = append(out, hosts)
	}
	return out
}

// HostnamesFor is by which names callers call, which is before where nothing of what that followed
// from has changed.
func (m Mesh) HostnamesFor(k *Caller, before *Hostnames) *Hostnames {
	reads := m.namesRead(k)
	if before != nil && slices.Equal(before.reads, reads) {
		return before
	}
	out := m.hostnamesFor(k)
	out.reads = reads
	return out
}

func (m Mesh) hostnamesFor(k *Caller) *Hostnames {
	held, redirected := map[string]*services.Destination{}, api.TransparentProxying{IPFamilyMode: k.Families}
	var classic []*services.Destination
	for d := range m.VirtualDestinations.Values(m.At, index.Any) {
		if d.Outside || !reachable(k.Limit, k.Home, d) || !slices.ContainsFunc(d.VIPs, redirected.Redirects) {
			continue
		}
		if d.Facts.Classic {
			classic = append(classic, d)
			continue
		}
		for _, name := range d.Hostnames {
			if name = strings.ToLower(name); d.OfCluster(name) || !m.SeesName(k.Home.Namespace, d, name) {
				continue
			}
			if by := held[name]; by == nil || holdsName(d.Destination, by.Destination, k.Home.Namespace) {
				held[name] = d
			}
		}
	}
	byName := make(map[string]Hostname, len(held))
	for name, d := range held {
		byName[name] = Hostname{Name: name, Addresses: d.Redirected(redirected)}
	}
	m.addHosts(k, byName)
	for _, d := range classic { // where nobody else has the name
		name := hostnames.ClassicHost(d.Name)
		if api.ValidateHostname("", strings.ReplaceAll(name, "_", "-")) == nil && byName[name].Name == "" {
			byName[name] = Hostname{Name: name, Addresses: d.Redirected(redirected)}
		}
	}
	out, sum := &Hostnames{}, sha256.New()
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		h := byName[name]
		out.List = append(out.List, h)
		fmt.Fprintln(sum, h.Name, h.Addresses, h.Last)
	}
	out.Version = hex.EncodeToString(sum.Sum(nil)[:16])
	return out
}

// addHosts adds the hosts of routes, in the families in which calls to them are looked at. What
// is named as a service is that for all.
func (m Mesh) addHosts(k *Caller, byName map[string]Hostname) {
	for _, group := range k.Groups {
		at, _ := netip.ParseAddr(GroupOf(group).Address) // an address
		address := vips.Any
		if at.Is6() {
			address = vips.Twin(vips.Any)
		}
		hosts, _ := m.HostsOfGroups.Get(m.At, group)
		if hosts == nil {
			continue
		}
		for _, h := range hosts.List {
			name := strings.ToLower(h.Dest.Name)
			had, known := byName[name]
			if _, err := netip.ParseAddr(name); err == nil || effective.OfClusters(name) || h.Named || known && !had.Last || slices.Contains(had.Addresses, address.String()) {
				continue
			}
			byName[name] = Hostname{Name: name, Addresses: slices.Sorted(slices.Values(append(slices.Clip(had.Addresses), address.String()))), Last: true}
		}
	}
}

// holdsName reports whether a has a name rather than b, for callers of a namespace.
func holdsName(a, b *effective.Destination, home string) bool {
	if (a.Namespace == home) != (b.Namespace == home) {
		return a.Namespace == home
	}
	return cmp.Compare(a.ID, b.ID) < 0
}
