package resolve

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// dest is a destination with what refs may ask about it.
type dest struct {
	*effective.Destination
	// key is by what it is found: its ID, and of a host that is owned the scope too.
	key    string
	object *api.Object // nil for a classic service
	facts  matcher.Service
	// spoken is the destination as those have it who know the protocol of a port of
	// which nobody wrote one down.
	spoken map[api.Protocol]*effective.Destination
}

// newDest is d with all that follows from it.
func newDest(d *effective.Destination, object *api.Object, key string) *dest {
	out := &dest{Destination: d, key: key, object: object, facts: factsOf(d)}
	if d.Kind == api.KindHost {
		_, out.facts.Namespace = index.CutScope(key)
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
func (d *dest) reuse(before *dest) {
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

// forms are the destination as dataplanes have it: by itself, and by those who know its protocol.
func (d *dest) forms() []*effective.Destination {
	out := []*effective.Destination{d.Destination}
	for _, known := range d.spoken {
		if !slices.Contains(out, known) {
			out = append(out, known)
		}
	}
	return out
}

// as is the destination for those who say that it speaks p where nobody wrote its
// protocol down.
func (d *dest) as(p api.Protocol) *effective.Destination {
	if known := d.spoken[p]; known != nil {
		return known
	}
	return d.Destination
}

// classicDestination is the kuma.io/service of that name with these inbounds.
// Its protocol is what all of them have in common; without any, what routes say.
func classicDestination(name string, members []member) *effective.Destination {
	d := &effective.Destination{ID: index.ClassicID(name), Kind: api.KindMeshService, Name: name, Protocol: api.TCP, Hostnames: []string{name, name + ".mesh"}}
	d.Listed, d.Guessed = len(members) == 0, len(members) == 0
	if admitted := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.barred }); len(admitted) > 0 {
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

// reads reports whether requests can be told apart at d by those who say that it
// speaks p where nobody wrote its protocol down.
func (d *dest) reads(p api.Protocol) bool { return d.as(p).Protocol.HTTPLike() }

// factsOf is what refs may ask about d.
func factsOf(d *effective.Destination) matcher.Service {
	return matcher.Service{Kind: d.Kind, Name: d.Name, Object: d.Ref.Name, Namespace: d.Namespace, Labels: d.Labels,
		Port: d.Port, PortName: d.PortName, Classic: d.Ref.Name == "" && d.Kind != api.KindHost && d.Kind != api.KindAddress, Above: d.Above}
}

// linkNames are those by which refs may mean d; a host is found at its port too.
func (d *dest) linkNames() []string {
	if d.Kind == api.KindHost {
		_, scope := index.CutScope(d.key)
		return []string{d.Name, index.HostsAt(d.Port, scope)}
	}
	return d.Destination.LinkNames()
}

// member is one inbound behind a destination.
type member struct {
	plane   *index.Dataplane
	inbound *api.Inbound
	claims  []index.Claim     // by which it is a member, and which nobody has proved
	barred  bool              // nobody is led to it for those
	tags    map[string]string // by which subsets find it, where they are not all that the inbound says
}

// protocol is what the inbound says that it speaks.
func (m member) protocol() api.Protocol { return inboundProtocol(m.inbound) }

func inboundProtocol(in *api.Inbound) api.Protocol {
	return index.ProtocolOf(cmp.Or(in.Protocol, in.Tags[api.TagProtocol]))
}

// answersBy are the tags by which subsets find it.
func (m member) answersBy() map[string]string {
	if m.tags != nil {
		return m.tags
	}
	return m.inbound.Tags
}

// repeats reports whether a member that was listed before is at the same place: several
// Services lead to one port of a pod, which has an inbound for each.
func (m member) repeats(before []member) bool {
	for i := len(before) - 1; i >= 0 && before[i].plane == m.plane; i-- {
		if o := before[i].inbound; !before[i].barred && o.Port == m.inbound.Port && o.Address == m.inbound.Address {
			return true
		}
	}
	return false
}

// members is who answers for a destination.
type members struct {
	list  []effective.Endpoint
	http2 bool // all of them are inbounds of dataplanes whose proxy takes HTTP/2
	peers *identity.Peers
	// waiting are those that do not answer yet, and planes those in list from its beginning on whose
	// dataplanes were read, both until withPeers has looked at them.
	waiting []member
	planes  []*index.Dataplane
	left    []effective.LeftOut
	// idle, of those of whom nobody answers, are the dataplanes that do not answer yet.
	idle *idle
}

// membersOf lists the ready ones that have an IP address, in the order of the dataplanes.
func membersOf(list []member) *members {
	m := &members{http2: len(list) > 0}
	for i, x := range list {
		if x.barred {
			m.left = append(m.left, x.leftOut())
			continue
		}
		m.http2 = m.http2 && x.protocol().HTTPLike()
		address := cmp.Or(x.inbound.Address, x.plane.Spec.Networking.Address)
		if !x.inbound.Ready() {
			m.waiting = append(m.waiting, x)
		}
		if _, err := netip.ParseAddr(address); err != nil || !x.inbound.Ready() || x.repeats(list[:i]) {
			continue // an endpoint is an IP address: decoding has warned of names
		}
		m.planes = append(m.planes, x.plane)
		m.list = append(m.list, effective.Endpoint{
			Dataplane: x.plane.Object.Ref,
			Address:   address, Port: x.inbound.Port,
			Tags: x.answersBy(), Zone: x.plane.Object.Labels[api.LabelZone],
		})
	}
	return m
}

// subset are those that have the tags; nil tags are all.
func (m *members) subset(tags map[string]string) []effective.Endpoint {
	if len(tags) == 0 {
		return m.list
	}
	var out []effective.Endpoint
	for _, x := range m.list {
		if matcher.Tags(tags, x.Tags) {
			out = append(out, x)
		}
	}
	return out
}
