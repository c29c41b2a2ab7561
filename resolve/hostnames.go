package resolve

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

// Hostname is a name that only the mesh knows, and the addresses that it stands for, sorted.
type Hostname struct {
	Name      string // in lower case; *.NAME stands for all names below NAME
	Addresses []string
	// Last says that the addresses hold where nobody else knows the name: it is a host of
	// routes, which may well be one of the world.
	Last bool
}

// Hostnames are the names by which workloads may call what they reach, as far as nobody else
// answers for them (spec/kubernetes.md 3.10): <name>.mesh, those of status and of generators,
// at virtual addresses of the families that are redirected, and the hosts of routes. A classic
// service has its name where nobody else has it. Names of a
// Kubernetes Service are its cluster's. Of two services with one name that of the caller's
// namespace holds, else the first by its destination id.
type Hostnames struct {
	Version string     // follows from List
	List    []Hostname // sorted by name

	reads []any // pointers to all that it follows from, beside who calls
}

// addressed are the destinations that have virtual addresses, and so names for all.
type addressed struct{ list []*services.Destination }

// hostnamesKey names the dataplanes whose workloads may call the same.
type hostnamesKey struct {
	Home     api.Home
	Families string                 `json:",omitempty"` // ipFamilyMode
	Limit    *api.ReachableBackends `json:",omitempty"`
	Groups   []string               `json:",omitempty"` // by which they reach hosts
}

// addHostnames derives who may call the same. What they may call is worked out when somebody
// asks: names are told to sidecars with a resolver alone.
func (c *reachabilityStage) addHostnames() {
	c.hostnamesKeys = derive.Derive(c.below.Schema, "who calls by which names", c.below.Dataplanes, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(r *derive.Reader, key string) *string {
			p := index.Need(c.below.Dataplanes, r, key)
			net := p.Spec.Networking
			if net.TransparentProxying == nil {
				return nil
			}
			k := hostnamesKey{Home: p.Object.Home(), Families: net.TransparentProxying.IPFamilyMode, Limit: net.TransparentProxying.ReachableBackends, Groups: c.derived(r).groupsOf(key)}
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
	c.hostnamesCallers = c.hostnamesKeys.Index(func(_ string, _ *string, add func(string)) { add(index.Any) })
}

// namesRead are pointers to all that the names for callers follow from: the values behind
// them never change.
func (m reachabilityMesh) namesRead(k *hostnamesKey) []any {
	all, _ := m.destsAddressed.Get(m.At, index.Any)
	out := []any{all}
	for _, group := range k.Groups {
		hosts, _ := m.grouped.Get(m.At, group)
		out = append(out, hosts)
	}
	return out
}

func (m reachabilityMesh) hostnamesFor(k *hostnamesKey) *Hostnames {
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
func (m reachabilityMesh) addHosts(k *hostnamesKey, byName map[string]Hostname) {
	for _, group := range k.Groups {
		at, _ := netip.ParseAddr(groupOf(group).Address) // an address
		address := vips.Any
		if at.Is6() {
			address = vips.Twin(vips.Any)
		}
		hosts, _ := m.grouped.Get(m.At, group)
		if hosts == nil {
			continue
		}
		for _, h := range hosts.list {
			name := strings.ToLower(h.dest.Name)
			had, known := byName[name]
			if _, err := netip.ParseAddr(name); err == nil || effective.OfClusters(name) || h.named || known && !had.Last || slices.Contains(had.Addresses, address.String()) {
				continue
			}
			byName[name] = Hostname{Name: name, Addresses: slices.Sorted(slices.Values(append(slices.Clip(had.Addresses), address.String()))), Last: true}
		}
	}
}

// CallsAs names the dataplanes whose workloads may call the same as that of one; empty where
// it calls nothing by a name.
func (m *Model) CallsAs(dp api.Ref) string {
	x, ok := m.mesh(dp.Mesh)
	if !ok {
		return ""
	}
	if k, _ := m.all.hostnamesKeys.Get(x.At, index.ObjectKey(dp)); k != nil {
		return *k
	}
	return ""
}

// NamesFor reports whether workloads of a dataplane call d by one of its Hostnames, as far as it is theirs to
// have: where hosts are owned a name is one in d's own namespace, unless a grant gives it to d elsewhere too.
func (m *Model) NamesFor(from api.Ref, d *effective.Destination, name string) bool {
	r, ok := m.Dataplane(from)
	if !ok || r.Dataplane == nil {
		return true
	}
	x, _ := m.mesh(from.Mesh)
	to := x.Destination(d.ID)
	return to == nil || x.SeesName(r.Dataplane.HomeNamespace(), to, strings.ToLower(name))
}

// Hostnames are the names for those that CallsAs names, of a mesh. Where nothing that they
// follow from has changed since before, which another model said of the same callers, it is
// before; nil for none. Else it looks at everything that has an address, so whoever asks for
// several dataplanes asks once for those of one key.
func (m *Model) Hostnames(mesh, callsAs string, before *Hostnames) *Hostnames {
	x, ok := m.mesh(mesh)
	var k hostnamesKey
	if !ok || json.Unmarshal([]byte(callsAs), &k) != nil {
		return &Hostnames{}
	}
	reads := x.namesRead(&k)
	if before != nil && slices.Equal(before.reads, reads) {
		return before
	}
	out := x.hostnamesFor(&k)
	out.reads = reads
	return out
}

// Callers is how many dataplanes of a mesh may call something by a name.
func (m *Model) Callers(mesh string) int {
	x, ok := m.mesh(mesh)
	if !ok {
		return 0
	}
	return m.all.hostnamesCallers.Len(x.At, index.Any)
}

// holdsName reports whether a has a name rather than b, for callers of a namespace.
func holdsName(a, b *effective.Destination, home string) bool {
	if (a.Namespace == home) != (b.Namespace == home) {
		return a.Namespace == home
	}
	return cmp.Compare(a.ID, b.ID) < 0
}
