package services

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// Apart reports whether dataplanes differ in how they reach the virtual addresses of d,
// although they may reach it: services outside the mesh are for those who have a route
// for them, and a pod does not call itself.
func (d *Destination) Apart() bool { return d.Outside || d.Above != nil }

// Destination is a destination with what refs may ask about it.
type Destination struct {
	*effective.Destination
	// Key is by what it is found: its ID, and of a host that is owned the scope too.
	Key    string
	Object *api.Object // nil for a classic service
	Facts  matcher.Service
	// spoken is the destination as those have it who know the protocol of a port of
	// which nobody wrote one down.
	spoken map[api.Protocol]*effective.Destination
}

// newDest is d with all that follows from it.
func newDest(d *effective.Destination, object *api.Object, key string) *Destination {
	out := &Destination{Destination: d, Key: key, Object: object, Facts: FactsOf(d)}
	if d.Kind == api.KindHost {
		_, out.Facts.Namespace = index.CutScope(key)
	}
	if d.Guessed {
		out.spoken = map[api.Protocol]*effective.Destination{}
		for _, p := range [...]api.Protocol{api.HTTP, api.GRPC} {
			known := *d
			known.Protocol, known.Guessed = p, false
			out.spoken[p] = &known
		}
		if d.Listed { // any route for requests says enough
			out.spoken[""] = out.spoken[api.HTTP]
		}
	}
	return out
}

// reuse takes over the destinations of before that are equal: what somebody knew of the
// protocol may be what is written now.
func (d *Destination) reuse(before *Destination) {
	if before == nil {
		return
	}
	known := append(slices.Collect(maps.Values(before.spoken)), before.Destination)
	take := func(d *effective.Destination) *effective.Destination {
		if i := slices.IndexFunc(known, func(k *effective.Destination) bool { return derive.Same(k, d) }); i >= 0 {
			return known[i]
		}
		return d
	}
	d.Destination = take(d.Destination)
	for p := range d.spoken {
		d.spoken[p] = take(d.spoken[p])
	}
}

// Forms are the destination as dataplanes have it: by itself, and by those who know its protocol.
func (d *Destination) Forms() []*effective.Destination {
	out := []*effective.Destination{d.Destination}
	for _, known := range d.spoken {
		if !slices.Contains(out, known) {
			out = append(out, known)
		}
	}
	return out
}

// As is the destination for those who say that it speaks p where nobody wrote its
// protocol down.
func (d *Destination) As(p api.Protocol) *effective.Destination {
	if known := d.spoken[p]; known != nil {
		return known
	}
	return d.Destination
}

// classicDestination is the kuma.io/service of that name with these inbounds.
// Its protocol is what all of them have in common; without any, what routes say.
func classicDestination(name string, members []Member) *effective.Destination {
	d := &effective.Destination{ID: index.ClassicID(name), Kind: api.KindMeshService, Name: name, Protocol: api.TCP, Hostnames: []string{name, name + ".mesh"}}
	d.Listed, d.Guessed = len(members) == 0, len(members) == 0
	if admitted := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.barred }); len(admitted) > 0 {
		members = admitted // nobody else says what is spoken there
	}
	for i, m := range members {
		p := m.protocol()
		if i > 0 && p != d.Protocol {
			d.Protocol = api.TCP
			break
		}
		d.Protocol = p
	}
	return d
}

// Reads reports whether requests can be told apart at d by those who say that it
// speaks p where nobody wrote its protocol down.
func (d *Destination) Reads(p api.Protocol) bool { return d.As(p).Protocol.HTTPLike() }

// FactsOf is what refs may ask about d.
func FactsOf(d *effective.Destination) matcher.Service {
	return matcher.Service{Kind: d.Kind, Name: d.Name, Object: d.Ref.Name, Namespace: d.Namespace, Labels: d.Labels,
		Port: d.Port, PortName: d.PortName, Classic: d.Ref.Name == "" && d.Kind != api.KindHost && d.Kind != api.KindAddress, Above: d.Above}
}

// LinkNames are those by which refs may mean d; a host is found at its port too.
func (d *Destination) LinkNames() []string {
	if d.Kind == api.KindHost {
		_, scope := index.CutScope(d.Key)
		return []string{d.Name, index.HostsAt(d.Port, scope)}
	}
	return d.Destination.LinkNames()
}

// Member is one inbound behind a destination.
type Member struct {
	Plane   *index.Dataplane
	Inbound *api.Inbound
	claims  []index.Claim     // by which it is a member, and which nobody has proved
	barred  bool              // nobody is led to it for those
	tags    map[string]string // by which subsets find it, where they are not all that the inbound says
}

// protocol is what the inbound says that it speaks.
func (m Member) protocol() api.Protocol { return InboundProtocol(m.Inbound) }

// InboundProtocol is what an inbound says it speaks, by field or tag.
func InboundProtocol(in *api.Inbound) api.Protocol {
	return index.ProtocolOf(cmp.Or(in.Protocol, in.Tags[api.TagProtocol]))
}

// answersBy are the tags by which subsets find it.
func (m Member) answersBy() map[string]string {
	if m.tags != nil {
		return m.tags
	}
	return m.Inbound.Tags
}

// repeats reports whether a member that was listed before is at the same place: several
// Services lead to one port of a pod, which has an inbound for each.
func (m Member) repeats(before []Member) bool {
	for i := len(before) - 1; i >= 0 && before[i].Plane == m.Plane; i-- {
		if o := before[i].Inbound; !before[i].barred && o.Port == m.Inbound.Port && o.Address == m.Inbound.Address {
			return true
		}
	}
	return false
}

// Members is who answers for a destination.
type Members struct {
	List  []effective.Endpoint
	HTTP2 bool // all of them are inbounds of dataplanes whose proxy takes HTTP/2
	Peers *identity.Peers
	// Waiting are those that do not answer yet, and planes those in list from its beginning on whose
	// dataplanes were read, both until withPeers has looked at them.
	Waiting []Member
	planes  []*index.Dataplane
	Left    []effective.LeftOut
	// idle, of those of whom nobody answers, are the dataplanes that do not answer yet.
	idle *idle
}

// membersOf lists the ready ones that have an IP address, in the order of the dataplanes.
func membersOf(list []Member) *Members {
	m := &Members{HTTP2: len(list) > 0}
	for i, x := range list {
		if x.barred {
			m.Left = append(m.Left, x.leftOut())
			continue
		}
		m.HTTP2 = m.HTTP2 && x.protocol().HTTPLike()
		address := cmp.Or(x.Inbound.Address, x.Plane.Spec.Networking.Address)
		if !x.Inbound.Ready() {
			m.Waiting = append(m.Waiting, x)
		}
		if _, err := netip.ParseAddr(address); err != nil || !x.Inbound.Ready() || x.repeats(list[:i]) {
			continue // an endpoint is an IP address: decoding has warned of names
		}
		m.planes = append(m.planes, x.Plane)
		m.List = append(m.List, effective.Endpoint{
			Dataplane: x.Plane.Object.Ref,
			Address:   address, Port: x.Inbound.Port,
			Tags: x.answersBy(), Labels: x.Plane.Object.Labels, Zone: x.Plane.Object.Labels[api.LabelZone],
		})
	}
	return m
}

// Subset are those that have the tags; nil tags are all.
func (m *Members) Subset(tags map[string]string) []effective.Endpoint {
	if len(tags) == 0 {
		return m.List
	}
	var out []effective.Endpoint
	for _, x := range m.List {
		if matcher.Tags(tags, x.Tags) {
			out = append(out, x)
		}
	}
	return out
}

// Redirected are the virtual addresses of d at which calls come to a listener, sorted.
func (d *Destination) Redirected(by api.TransparentProxying) []string {
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(d.VIPs))), func(ip string) bool { return !by.Redirects(ip) })
}

// WhyIdle says why nobody answers for the destination, and what to do about it.
func (d *Destination) WhyIdle(m *Members) string {
	const answer = "so that requests to it are answered with 503"
	what := fmt.Sprintf("%s has no ready endpoint%s, %s", d.ID, LeftText(m.Left), answer)
	switch n := m.idle.total; {
	case n == 0 && len(m.Left) > 0:
		return what
	case n == 0:
		return fmt.Sprintf("%s has no endpoint, %s: no dataplane that it selects has an inbound for its port %d; correct the selector or the port, or start a workload that it selects", d.ID, answer, d.Port)
	default:
		names := make([]string, len(m.idle.waiting))
		for i, ref := range m.idle.waiting {
			names[i] = ref.FullName()
		}
		more := ""
		if n > len(names) {
			more = fmt.Sprintf(" and %d more", n-len(names))
		}
		return fmt.Sprintf("%s: not ready are %s%s; look at the readiness probe of the workload, or at `state` and `health` of its inbound", what, strings.Join(names, ", "), more)
	}
}
