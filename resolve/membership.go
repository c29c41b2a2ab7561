package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// Who answers for a service is whom its selector finds by tags, labels or name. A sidecar that brings
// its Dataplane along writes these itself: where inbounds take mutual TLS alone it answers only for what
// its token binds, else it would take the requests that others are sent, with all that callers put into
// them, by a certificate that proves another name (spec/identity.md 2.5).

// admit bars those of the members of one destination that have not proved that they are, where it takes
// mutual TLS alone: where one of those does who have proved it, or where the inbound itself does, by what
// it says or by what it has proved. So nobody makes itself Permissive by a label to take part.
func (m servicesMesh) admit(list []member) []member {
	guest := func(x member) bool { return x.plane.Object.Bound() != nil }
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
			x.tags = x.plane.Object.Bound().Of(x.plane.Object).Spec.(*api.Dataplane).Networking.Inbound[x.index()].Tags
		}
	}
	return list
}

// index is where the inbound stands in its document.
func (m member) index() int {
	list := m.plane.Spec.Networking.Inbound
	for i := range list {
		if &list[i] == m.inbound {
			return i
		}
	}
	return 0
}

// saysStrict reports whether an inbound takes mutual TLS alone as its document has it.
func (m servicesMesh) saysStrict(x member) bool {
	s := m.TLSOf(x.plane.Object.Ref)
	if s == nil {
		return false
	}
	t := s.Inbounds[x.index()]
	return t != nil && t.Mode == effective.Strict
}

// insists reports whether an inbound takes mutual TLS alone by what is proved of its dataplane.
func (m servicesMesh) insists(x member) bool {
	proof := x.plane.Object.Bound()
	if proof == nil {
		return m.saysStrict(x)
	}
	g := m.Issuers()
	if g == nil {
		return false
	}
	bound := index.NewDataplane(proof.Of(x.plane.Object), m.ZoneLabels)
	id := m.IdentityBy(&g.Issuers, bound)
	if id == nil {
		id = &effective.Identity{Mode: g.Mode()}
	}
	var said []*index.Policy
	if sets, _ := m.Baselines.Get(m.At, index.ObjectKey(x.plane.Object.Ref)); sets != nil {
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
func (m member) leftOut() effective.LeftOut {
	return effective.LeftOut{Dataplane: m.plane.Object.Ref, Why: "whose token does not prove " + claimsText(m.claims)}
}

func claimsText(all []index.Claim) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}

// membershipNotes say for what a dataplane answers, or would, by what its token does not prove, and how
// to prove it.
func membershipNotes(x mesh, p *index.Dataplane) []api.Note {
	if p.Object.Bound() == nil || !x.HasIdentities() {
		return nil
	}
	var barred, open []string
	var claims []index.Claim
	for id, of := range x.claimedBy(p) {
		behind, _ := x.members.Get(x.At, id)
		if behind == nil {
			continue
		}
		claims = append(claims, of...)
		if slices.ContainsFunc(behind.left, func(l effective.LeftOut) bool { return l.Dataplane == p.Object.Ref }) {
			barred = append(barred, id)
		} else {
			open = append(open, id)
		}
	}
	slices.Sort(barred)
	slices.Sort(open)
	slices.SortFunc(claims, func(a, b index.Claim) int { return strings.Compare(a.String(), b.String()) })
	claims = slices.Compact(claims)
	mend := fmt.Sprintf("issue another token by `%s`, or apply the Dataplane", proving(p.Object, claims))
	var notes []api.Note
	if len(barred) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Error, api.CodeUnprovenMember, "", "by %s it would answer for %s, which takes mutual TLS alone, and its token does not prove that, so nobody is led to it; %s", claimsText(claims), someNames(barred), mend))
	}
	if len(open) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Warning, api.CodeUnprovenMember, "", "by %s it answers for %s, and its token does not prove that: where mode Strict begins nobody is led to it any more; %s", claimsText(claims), someNames(open), mend))
	}
	return notes
}

// claimedBy are the destinations for which a dataplane answers, or would, by what it has not proved.
func (m servicesMesh) claimedBy(p *index.Dataplane) map[string][]index.Claim {
	out := map[string][]index.Claim{}
	add := func(id string, found []member) {
		for _, x := range found {
			if x.plane == p && len(x.claims) > 0 {
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

// proving is the command that issues a token which binds what the last one does, and claims too.
func proving(o *api.Object, claims []index.Claim) string {
	proof, words := o.Bound(), []string{}
	add := func(word string, all map[string][]string) {
		for k, values := range all {
			for _, v := range values {
				words = append(words, "--"+word+" "+k+"="+v)
			}
		}
	}
	add(index.TagClaim, proof.Tags)
	add(index.LabelClaim, proof.Labels)
	for _, c := range claims {
		words = append(words, "--"+c.Word+" "+c.Key+"="+c.Value)
	}
	slices.Sort(words)
	text := "weft token dataplane --mesh " + o.Mesh + " --name " + o.FullName()
	if proof.Workload != "" {
		text += " --workload " + proof.Workload
	}
	return strings.Join(append([]string{text}, slices.Compact(words)...), " ")
}

// LeftOut are the dataplanes of a mesh to which nobody is led by a destination for which they say that
// they answer, with the ids of these destinations.
func (m *Model) LeftOut(mesh string) map[api.Ref][]string {
	x, ok := m.mesh(mesh)
	if !ok {
		return nil
	}
	out := map[api.Ref][]string{}
	for id, behind := range x.members.All(x.At) {
		for _, l := range behind.left {
			out[l.Dataplane] = append(out[l.Dataplane], id)
		}
	}
	return out
}
