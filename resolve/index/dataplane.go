package index

import (
	"cmp"
	"iter"
	"net/netip"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// IsAt reports whether an address is one of the dataplane's own.
func (p *Dataplane) IsAt(address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	for own := range p.Spec.Networking.Addresses() {
		if own == ip.Unmap() {
			return true
		}
	}
	return false
}

// Dataplane is one Dataplane object, read once.
type Dataplane struct {
	Object *api.Object
	Spec   *api.Dataplane
	Facts  matcher.Dataplane
}

// NewDataplane reads a Dataplane; zone are the labels that the control plane computes.
func NewDataplane(o *api.Object, zone map[string]string) *Dataplane {
	spec, _ := o.Spec.(*api.Dataplane)
	if spec == nil || spec.Networking == nil {
		spec = &api.Dataplane{Networking: &api.Networking{}}
	}
	return &Dataplane{Object: o, Spec: spec, Facts: matcher.DataplaneOf(o, zone)}
}

// SelectedBy reports whether a selector selects the dataplane.
func (p *Dataplane) SelectedBy(s *matcher.Selector) bool { return s.Selects(&p.Facts) }

// AtOther reports whether an inbound is one of a pod for its second address. A Service without
// EndpointSlices calls pods at the first.
func (p *Dataplane) AtOther(in *api.Inbound) bool { return p.Object.From != nil && in.Address != "" }

// TagClaims are those of tags that are not proved.
func (p *Dataplane) TagClaims(tags map[string]string) []Claim {
	return p.claimed(TagClaim, tags, func(proof *api.Proof, k, v string) bool { return proof.Tag(k, v) })
}

// LabelClaims are those of labels that are not proved. What the control plane computes is no word of
// whoever brought the dataplane along.
func (p *Dataplane) LabelClaims(labels map[string]string) []Claim {
	return p.claimed(LabelClaim, labels, func(proof *api.Proof, k, v string) bool {
		written, ok := p.Object.Labels[k]
		return !ok || written != v || proof.Label(k, v)
	})
}

func (p *Dataplane) claimed(word string, all map[string]string, proved func(proof *api.Proof, k, v string) bool) (out []Claim) {
	proof := p.Object.Bound()
	if proof == nil {
		return nil
	}
	for _, k := range sortedNames(all) {
		if !proved(proof, k, all[k]) {
			out = append(out, Claim{word, k, all[k]})
		}
	}
	return out
}

// NameClaims are those of a dataplane that is selected by a name. Its own its token binds always.
func (p *Dataplane) NameClaims(name string) []Claim {
	if p.Object.Name == name || p.Object.FullName() == name {
		return nil
	}
	return p.LabelClaims(map[string]string{api.LabelDisplayName: name})
}

// SpaceClaims are those of a dataplane that is selected for being in a namespace.
func (p *Dataplane) SpaceClaims(namespace string) []Claim {
	if p.Object.Namespace == namespace {
		return nil
	}
	return p.LabelClaims(map[string]string{api.LabelNamespace: namespace})
}

// Origin is whose document says what the dataplane is: the Pod's, of one that follows from it.
func (p *Dataplane) Origin() *api.Origin {
	if p.Object.From != nil {
		return &api.Origin{Ref: *p.Object.From}
	}
	return &api.Origin{Ref: p.Object.Ref}
}

// Secret is the one that a listener of p names.
func (p *Dataplane) Secret(l *api.EdgeListener) api.Ref {
	return api.Ref{Kind: api.KindSecret, Mesh: p.Object.Mesh, Namespace: cmp.Or(p.Facts.Namespace, defaultNamespace), Name: l.TLS.Secret}
}

// defaultNamespace is that of what names none in Kubernetes.
const defaultNamespace = "default"

// addressID is the id of the addresses of a name. It depends on nothing but them, so that
// all routes that name the same have one destination and one cluster.
func addressID(name string) string { return "address_" + name }

// addressesOf yields the refs of a route object to addresses.
func addressesOf(r *Route) iter.Seq[*route.BackendRef] {
	return func(yield func(*route.BackendRef) bool) {
		if r.Object.Shadow() {
			return
		}
		for i := range r.Parsed.Entries {
			for j := range r.Parsed.Entries[i].Rules {
				rule := &r.Parsed.Entries[i].Rules[j]
				for _, refs := range [][]route.BackendRef{rule.Backends, rule.Mirrors} {
					for k := range refs {
						if ref := &refs[k]; ref.Outside != nil && !yield(ref) {
							return
						}
					}
				}
			}
		}
	}
}

// AddressOf is the addresses that have the id, if a route names them.
func (m Mesh) AddressOf(id string) *effective.Destination {
	for _, r := range m.RoutesByAddress.In(m.At, id) {
		for ref := range addressesOf(r) {
			if addressID(ref.Target.Name) == id {
				return addressDestination(ref)
			}
		}
	}
	return nil
}

func addressDestination(ref *route.BackendRef) *effective.Destination {
	as := &api.MeshExternalService{}
	if ref.Outside.TLS {
		as.TLS = &api.ExternalTLS{Enabled: true}
	}
	for _, a := range ref.Outside.Addresses {
		as.Endpoints = append(as.Endpoints, api.ExternalEndpoint{Address: a.Host, Port: a.Port})
	}
	return &effective.Destination{ID: addressID(ref.Target.Name), Kind: api.KindAddress, Name: ref.Target.Name, Protocol: api.HTTP, External: as}
}
