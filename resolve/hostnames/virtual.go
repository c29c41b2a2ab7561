package hostnames

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/vips"
)

// addVIPs derives who has which virtual address: what is stored stays, with the older of two
// objects that have it; the others are given one by the hash of their KRI.
func (c *Stage) addVIPs() {
	c.servicesByVIP = c.below.Services.Index(func(_ string, s *index.Service, add func(string)) {
		for a := range s.StoredVIPs() {
			add(a.String())
		}
	})
	storedIn := c.below.Services.Index(func(_ string, s *index.Service, add func(string)) {
		for a := range s.StoredVIPs() {
			if vips.Pooled(a) {
				add(vips.BlockOf(a).String())
			}
		}
	})
	c.VIPRequests = derive.Derive(c.below.Schema, "requests for virtual addresses", c.below.Services, derive.Values[vips.AddressRequest]{
		Equal: func(a, b *vips.AddressRequest) bool { return *a == *b },
	}, func(r *derive.Reader, key string) *vips.AddressRequest {
		s := index.Need(c.below.Services, r, key)
		for a := range s.StoredVIPs() {
			if c.Mesh(r).HolderOf(a) == s {
				return nil
			}
		}
		if !s.Virtual() {
			return nil
		}
		return &vips.AddressRequest{Key: key, Kind: s.Object.Kind, KRI: s.KRI()}
	})
	c.vipsGiven = c.assigning("virtual addresses given", c.VIPRequests, storedIn)
	c.classicRequests = derive.Derive(c.below.Schema, "requests for virtual addresses of classic services", c.below.DataplanesByClassic, derive.Values[vips.AddressRequest]{
		Equal: func(a, b *vips.AddressRequest) bool { return *a == *b },
	}, func(r *derive.Reader, id string) *vips.AddressRequest {
		if !c.Mesh(r).callsClassic(id) {
			return nil
		}
		return &vips.AddressRequest{Key: id, Kind: vips.Classic, KRI: index.ClassicName(id)}
	})
	c.classicGiven = c.assigning("virtual addresses given to classic services", c.classicRequests, storedIn)
}

// callsClassic reports whether those whose traffic is redirected call a kuma.io/service at an
// address of its own: not where the mesh has MeshServices alone, and not where one that belongs to
// no namespace has its name, at which it is called then. Where hosts are owned a dataplane of a
// namespace alone gives nobody a name by the tag that it claims.
func (m Mesh) callsClassic(id string) bool {
	if m.Mode() == index.Exclusive {
		return false
	}
	for s := range m.ServicesByHostname.Values(m.At, ClassicHost(index.ClassicName(id))) {
		if s.Object.HomeNamespace() == "" && !m.IsOutside(s.Object) {
			return false
		}
	}
	if !m.Tenancy().HostsOwned() {
		return true
	}
	for p := range m.DataplanesByClassic.Values(m.At, id) {
		if p.Object.HomeNamespace() == "" {
			return true
		}
	}
	return false
}

// ClassicHost is what a kuma.io/service is called where traffic is redirected, as in Kuma without
// a VirtualOutbound.
func ClassicHost(name string) string { return strings.ToLower(name) + ".mesh" }

// assigning derives what is given to requests, round by round.
func (c *Stage) assigning(what string, all *derive.Collection[vips.AddressRequest], storedIn *derive.Index[index.Service]) (given Rounds) {
	wanting := all.Index(func(_ string, q *vips.AddressRequest, add func(string)) { addBlock(*q, 0, add) })
	given[0] = c.assigned(what, given[:0], wanting, storedIn, func(r *derive.Reader, block string) (list []vips.AddressRequest) {
		for q := range wanting.Values(r, block) {
			list = append(list, *q)
		}
		return list
	})
	for round := 1; round < vips.Rounds; round++ {
		lost := given[round-1].Index(func(_ string, g *vips.Assignment, add func(string)) {
			for _, q := range g.Unassigned {
				addBlock(q, round, add)
			}
		})
		given[round] = c.assigned(what, given[:round], lost, storedIn, func(r *derive.Reader, block string) (list []vips.AddressRequest) {
			for g := range lost.Values(r, block) {
				for _, q := range g.Unassigned {
					if b, _, _ := q.Wants(round); b.String() == block {
						list = append(list, q)
					}
				}
			}
			return list
		})
	}
	return given
}

// Rounds are what is given in each.
type Rounds [vips.Rounds]*derive.Collection[vips.Assignment]

// to is the address that a request is given.
func (g *Rounds) to(at derive.At, q *vips.AddressRequest) netip.Addr {
	for round, given := range g {
		b, _, _ := q.Wants(round)
		if x, _ := given.Get(at, b.String()); x != nil && x.At[q.Key].IsValid() {
			return x.At[q.Key]
		}
	}
	return netip.Addr{}
}

// addBlock adds where a request looks for an address in a round.
func addBlock(q vips.AddressRequest, round int, add func(string)) {
	if b, _, ok := q.Wants(round); ok {
		add(b.String())
	}
}

// assigned derives what the blocks of over give away in the round after the earlier ones.
func (c *Stage) assigned(what string, before []*derive.Collection[vips.Assignment], over derive.Keys, storedIn *derive.Index[index.Service], requests func(r *derive.Reader, block string) []vips.AddressRequest) *derive.Collection[vips.Assignment] {
	round, before := len(before), slices.Clone(before)
	return derive.Derive(c.below.Schema, what+" in round "+strconv.Itoa(round+1), over, derive.Values[vips.Assignment]{
		Equal: func(a, b *vips.Assignment) bool { return derive.Same(a, b) },
	}, func(r *derive.Reader, block string) *vips.Assignment {
		taken := map[netip.Addr]bool{}
		for s := range storedIn.Values(r, block) {
			for a := range s.StoredVIPs() {
				taken[a] = true
			}
		}
		for _, earlier := range before {
			if g, _ := earlier.Get(r, block); g != nil {
				for _, a := range g.At {
					taken[a] = true
				}
			}
		}
		return vips.Assign(vips.Block([]byte(block)), requests(r, block), round, func(a netip.Addr) bool { return taken[a] })
	})
}

// HolderOf is the oldest of those in whose status an address is.
func (m Mesh) HolderOf(a netip.Addr) *index.Service {
	var oldest *index.Service
	for s := range m.servicesByVIP.Values(m.At, a.String()) {
		if oldest == nil || Senior(s.Object, oldest.Object) {
			oldest = s
		}
	}
	return oldest
}

// Senior reports whether an address that both have is that of a.
func Senior(a, b *api.Object) bool {
	return cmp.Or(a.Created.Compare(b.Created), a.Ref.Compare(b.Ref)) < 0
}

// VIPsOf are the virtual addresses of a service: those in its status that are its own, else
// the one that it is given, each with its twin.
func (m Mesh) VIPsOf(s *index.Service) []string {
	var own []netip.Addr
	for a := range s.StoredVIPs() {
		if m.HolderOf(a) == s {
			own = append(own, a)
		}
	}
	if given := m.GivenTo(s); len(own) == 0 && given.IsValid() {
		own = append(own, given)
	}
	var out []string
	for _, a := range own {
		out = append(out, a.String())
		if vips.Pooled(a) {
			out = append(out, vips.Twin(a).String())
		}
	}
	return out
}

// GivenTo is the address that a service without one of its own is given.
func (m Mesh) GivenTo(s *index.Service) netip.Addr {
	q, _ := m.VIPRequests.Get(m.At, index.ObjectKey(s.Object.Ref))
	if q == nil {
		return netip.Addr{}
	}
	return m.vipsGiven.to(m.At, q)
}

// ClassicVIPs are the virtual addresses of the kuma.io/service that has an id.
func (m Mesh) ClassicVIPs(id string) []string {
	q, _ := m.classicRequests.Get(m.At, id)
	if q == nil {
		return nil
	}
	given := m.classicGiven.to(m.At, q)
	if !given.IsValid() {
		return nil
	}
	return []string{given.String(), vips.Twin(given).String()}
}

// The codes of notes on virtual addresses.
const (
	DuplicateVIP = "DuplicateVIP"
	NoVIP        = "NoVIP"
)

// VirtualKinds are the kinds whose objects are given virtual addresses, sorted.
func VirtualKinds() []string { return slices.Sorted(maps.Keys(index.ShortNames)) }

// StoredVIPs yields the virtual addresses in the status of an object, without twins.
func StoredVIPs(o *api.Object) iter.Seq[netip.Addr] { return (&index.Service{Object: o}).StoredVIPs() }

// NeedsVIP reports whether an object is one that is given a virtual address, and has none in
// its status that is its own.
func NeedsVIP(o *api.Object, own func(netip.Addr) bool) bool {
	s := index.Service{Object: o}
	for a := range s.StoredVIPs() {
		if own(a) {
			return false
		}
	}
	return s.Virtual()
}

// VIPRequest is how an object asks for one; zone are the labels that the control plane
// computes.
func VIPRequest(o *api.Object, zone map[string]string) vips.AddressRequest {
	s := index.Service{Object: o, Labels: api.LabelsOf(o, zone)}
	return vips.AddressRequest{Key: index.ObjectKey(o.Ref), Kind: o.Kind, KRI: s.KRI()}
}

// WithVIP is o with one in its status, and its twin.
func WithVIP(o *api.Object, at netip.Addr) *api.Object {
	c, status := *o, api.ServiceStatus{}
	if st, ok := o.Status.(*api.ServiceStatus); ok && st != nil {
		status = *st
	}
	status.VIPs = append(slices.Clip(status.VIPs), api.VIP{IP: at.String()}, api.VIP{IP: vips.Twin(at).String()})
	c.Status, c.Adjusted = &status, true
	return &c
}
