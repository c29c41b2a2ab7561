package services

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// admit bars those of the members of one destination that have not proved that they are, where it takes
// mutual TLS alone: where one of those does who have proved it, or where the inbound itself does, by what
// it says or by what it has proved. So nobody makes itself Permissive by a label to take part.
func (m Mesh) admit(list []Member) []Member {
	guest := func(x Member) bool { return x.Plane.Object.Bound() != nil }
	if !slices.ContainsFunc(list, guest) || !m.HasIdentities() {
		return list
	}
	strict := slices.ContainsFunc(list, m.insists)
	for i := range list {
		x := &list[i]
		if !guest(*x) || !strict && !m.saysStrict(*x) {
			continue
		}
		if x.barred = len(x.claims) > 0; !x.barred { // nor is it in a subset by a tag that nobody has proved
			x.tags = x.Plane.Object.Bound().Of(x.Plane.Object).Spec.(*api.Dataplane).Networking.Inbound[x.index()].Tags
		}
	}
	return list
}

// index is where the inbound stands in its document.
func (m Member) index() int {
	list := m.Plane.Spec.Networking.Inbound
	for i := range list {
		if &list[i] == m.Inbound {
			return i
		}
	}
	return 0
}

// saysStrict reports whether an inbound takes mutual TLS alone as its document has it.
func (m Mesh) saysStrict(x Member) bool {
	s := m.TLSOf(x.Plane.Object.Ref)
	if s == nil {
		return false
	}
	t := s.Inbounds[x.index()]
	return t != nil && t.Mode == effective.Strict
}

// insists reports whether an inbound takes mutual TLS alone by what is proved of its dataplane.
func (m Mesh) insists(x Member) bool {
	proof := x.Plane.Object.Bound()
	if proof == nil {
		return m.saysStrict(x)
	}
	g := m.Issuers()
	if g == nil {
		return false
	}
	bound := index.NewDataplane(proof.Of(x.Plane.Object), m.ZoneLabels)
	id := m.IdentityBy(&g.Issuers, bound)
	if id == nil {
		id = &effective.Identity{Mode: g.Mode()}
	}
	var said []*index.Policy
	if sets, _ := m.Baselines.Get(m.At, index.ObjectKey(x.Plane.Object.Ref)); sets != nil {
		for _, p := range sets.TLS {
			if p.Selector.Selects(&bound.Facts) {
				said = append(said, p)
			}
		}
	}
	mode, _ := m.ModeOf(bound, &bound.Spec.Networking.Inbound[x.index()], id, said)
	return mode == effective.Strict
}

// leftOut is what is told of a member that is barred.
func (m Member) leftOut() effective.LeftOut {
	return effective.LeftOut{Dataplane: m.Plane.Object.Ref, Why: "whose token does not prove " + ClaimsText(m.claims)}
}

// ClaimsText is claims in words, separated by commas.
func ClaimsText(all []index.Claim) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}

// ClaimedBy are the destinations for which a dataplane answers, or would, by what it has not proved.
func (m Mesh) ClaimedBy(p *index.Dataplane) map[string][]index.Claim {
	out := map[string][]index.Claim{}
	add := func(id string, found []Member) {
		for _, x := range found {
			if x.Plane == p && len(x.claims) > 0 {
				out[id] = x.claims
			}
		}
	}
	seen := map[string]bool{}
	index.AddLabels(p, func(label string) {
		if seen[label] {
			return
		}
		seen[label] = true
		for s := range m.ServicesByTarget.Values(m.At, label) {
			for _, d := range s.Dests {
				switch spec := s.Object.Spec.(type) {
				case *api.MeshService:
					add(d.ID, m.selectedOf(p, s.Object, spec, d.Port, nil))
				case *api.Service:
					for i := range spec.Ports {
						if at := &spec.Ports[i]; at.OverTCP() && at.Port == d.Port {
							add(d.ID, m.chosenOf(p, s.Object, spec, at, nil))
						}
					}
				}
			}
		}
	})
	for i := range p.Spec.Networking.Inbound {
		if name := p.Spec.Networking.Inbound[i].Tags[api.TagService]; name != "" {
			if claims := p.TagClaims(map[string]string{api.TagService: name}); len(claims) > 0 {
				out[index.ClassicID(name)] = claims
			}
		}
	}
	return out
}
