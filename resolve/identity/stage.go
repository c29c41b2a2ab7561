package identity

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// addBaselines derives them. Without a kind of either sort there is nothing to look at.
func (c *Stage) addBaselines() {
	c.TLSKind = slices.IndexFunc(c.below.Kinds, func(k *policies.Kind) bool { return k.TransportSecurity != nil })
	there := c.TLSKind >= 0 || slices.ContainsFunc(c.below.Kinds, func(k *policies.Kind) bool { return k.Authorizer != nil })
	c.Baselines = derive.Derive(c.below.Schema, "policies of inbounds", c.below.Dataplanes, derive.Values[Baseline]{Equal: (*Baseline).equal},
		func(r *derive.Reader, key string) *Baseline {
			if !there {
				return nil
			}
			return c.Mesh(r).baselineOf(index.Need(c.below.Dataplanes, r, key))
		})
	c.ByBaseline = c.Baselines.Group(func(_ string, s *Baseline, add func(string)) {
		for _, keys := range s.Inbounds {
			for _, key := range keys {
				add(key)
			}
		}
	})
}

// baselineOf is nil for a dataplane about which nothing of the sort is said.
func (m Mesh) baselineOf(p *index.Dataplane) *Baseline {
	var about []*index.Policy
	out := &Baseline{Inbounds: make([][]string, len(p.Spec.Networking.Inbound))}
	for x := range m.InboundPolicies(p) {
		switch adds := m.Kinds[x.Kind].Authorizer != nil && x.TopRoute == nil; {
		case !adds && x.Kind != m.TLSKind || !x.Selector.Selects(&p.Facts):
		case adds:
			about = append(about, x)
		default:
			out.TLS = append(out.TLS, x)
		}
	}
	if len(about)+len(out.TLS) == 0 {
		return nil
	}
	slices.SortFunc(about, func(a, b *index.Policy) int { return a.Own.Compare(b.Own) })
	for i := range p.Spec.Networking.Inbound {
		in := &p.Spec.Networking.Inbound[i]
		at := &effective.Inbound{Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Port: in.Port}
		for kind, k := range m.Kinds {
			var of []string
			for _, x := range about {
				if x.Kind == kind && x.Selector.SelectsInbound(&p.Facts, in.Tags) && x.OnSection(at) {
					of = append(of, index.ObjectKey(x.Object.Ref))
				}
			}
			if len(of) > 0 {
				out.Inbounds[i] = append(out.Inbounds[i], tuple.Join(slices.Insert(of, 0, k.Name)...))
			}
		}
	}
	return out
}

// Stage is who dataplanes are, and how they take mutual TLS: keyed as the dataplanes, but
// for what is said of a whole mesh.
type Stage struct {
	below         index.Mesh
	MeshIssuers   *derive.Collection[MeshIssuers]
	hasIdentities *derive.Collection[bool]
	Domains       *derive.Collection[effective.TrustDomain]
	TLSKind       int // of the kind with TransportSecurity, -1 for none
	tlsParameters *derive.Collection[policies.TLSParameters]
	tlsSettings   *derive.Collection[tlsSettings]
	DataplaneTLS  *derive.Collection[DataplaneTLS]
	revocations   *derive.Index[index.Policy] // see revoked.go

	// What policies say of the inbounds of each dataplane, and what those say together whose confs
	// add up, by kind and by the policies.
	Baselines  *derive.Collection[Baseline]
	ByBaseline *derive.Group[Baseline]
}

// Mesh is one mesh at this stage.
type Mesh struct {
	index.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh { return Mesh{s.below.Stage.Mesh(at), s} }

// New adds this stage above the one that it reads.
func New(below index.Mesh) Mesh {
	s := &Stage{below: below}
	s.addBaselines()
	s.addIdentities()
	return s.Mesh(nil)
}
