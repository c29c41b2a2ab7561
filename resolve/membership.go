package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// Who answers for a service is whom its selector finds by tags, labels or name. A sidecar that brings
// its Dataplane along writes these itself: where inbounds take mutual TLS alone it answers only for what
// its token binds, else it would take the requests that others are sent, with all that callers put into
// them, by a certificate that proves another name (spec/identity.md 2.5).

// unproved is a tag or label by which a dataplane answers for something, and which nobody has proved.
type unproved struct{ word, key, value string }

// The words of claims, which are those of the command that issues tokens too.
const (
	tagClaim   = "tag"
	labelClaim = "label"
)

func (c unproved) String() string { return c.word + " " + c.key + ": " + c.value }

// tagClaims are those of tags that are not proved.
func (p *dataplane) tagClaims(tags map[string]string) []unproved {
	return p.claimed(tagClaim, tags, func(proof *api.Proof, k, v string) bool { return proof.Tag(k, v) })
}

// labelClaims are those of labels that are not proved. What the control plane computes is no word of
// whoever brought the dataplane along.
func (p *dataplane) labelClaims(labels map[string]string) []unproved {
	return p.claimed(labelClaim, labels, func(proof *api.Proof, k, v string) bool {
		written, ok := p.object.Labels[k]
		return !ok || written != v || proof.Label(k, v)
	})
}

func (p *dataplane) claimed(word string, all map[string]string, proved func(proof *api.Proof, k, v string) bool) (out []unproved) {
	proof := p.object.Bound()
	if proof == nil {
		return nil
	}
	for _, k := range sortedNames(all) {
		if !proved(proof, k, all[k]) {
			out = append(out, unproved{word, k, all[k]})
		}
	}
	return out
}

func sortedNames(all map[string]string) []string {
	out := make([]string, 0, len(all))
	for k := range all {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// nameClaims are those of a dataplane that is selected by a name. Its own its token binds always.
func (p *dataplane) nameClaims(name string) []unproved {
	if p.object.Name == name || p.object.FullName() == name {
		return nil
	}
	return p.labelClaims(map[string]string{api.LabelDisplayName: name})
}

// spaceClaims are those of a dataplane that is selected for being in a namespace.
func (p *dataplane) spaceClaims(namespace string) []unproved {
	if p.object.Namespace == namespace {
		return nil
	}
	return p.labelClaims(map[string]string{api.LabelNamespace: namespace})
}

// admit bars those of the members of one destination that have not proved that they are, where it takes
// mutual TLS alone: where one of those does who have proved it, or where the inbound itself does, by what
// it says or by what it has proved. So nobody makes itself Permissive by a label to take part.
func (m servicesMesh) admit(list []member) []member {
	guest := func(x member) bool { return x.plane.object.Bound() != nil }
	if !slices.ContainsFunc(list, guest) || !m.isGuarded() {
		return list
	}
	strict := slices.ContainsFunc(list, m.insists)
	for i := range list {
		x := &list[i]
		if !guest(*x) || !strict && !m.saysStrict(*x) {
			continue
		}
		if x.barred = len(x.claims) > 0; !x.barred { // nor is it in a subset by a tag that nobody has proved
			x.tags = x.plane.object.Bound().Of(x.plane.object).Spec.(*api.Dataplane).Networking.Inbound[x.index()].Tags
		}
	}
	return list
}

// index is where the inbound stands in its document.
func (m member) index() int {
	list := m.plane.spec.Networking.Inbound
	for i := range list {
		if &list[i] == m.inbound {
			return i
		}
	}
	return 0
}

// saysStrict reports whether an inbound takes mutual TLS alone as its document has it.
func (m servicesMesh) saysStrict(x member) bool {
	s := m.securedOf(x.plane.object.Ref)
	if s == nil {
		return false
	}
	t := s.inbounds[x.index()]
	return t != nil && t.Mode == effective.Strict
}

// insists reports whether an inbound takes mutual TLS alone by what is proved of its dataplane.
func (m servicesMesh) insists(x member) bool {
	proof := x.plane.object.Bound()
	if proof == nil {
		return m.saysStrict(x)
	}
	g := m.guard()
	if g == nil {
		return false
	}
	bound := newDataplane(proof.Of(x.plane.object), m.zone)
	id := m.identityBy(&g.gives, bound)
	if id == nil {
		id = &effective.Identity{Mode: g.mode()}
	}
	var said []*policy
	if sets, _ := m.saidSets.Get(m.at, objectKey(x.plane.object.Ref)); sets != nil {
		for _, p := range sets.modes {
			if p.selector.Selects(&bound.facts) {
				said = append(said, p)
			}
		}
	}
	mode, _ := m.modeOf(bound, &bound.spec.Networking.Inbound[x.index()], id, said)
	return mode == effective.Strict
}

// leftOut is what is told of a member that is barred.
func (m member) leftOut() effective.LeftOut {
	return effective.LeftOut{Dataplane: m.plane.object.Ref, Why: "whose token does not prove " + claimsText(m.claims)}
}

func claimsText(all []unproved) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}

// membershipNotes say for what a dataplane answers, or would, by what its token does not prove, and how
// to prove it.
func membershipNotes(x mesh, p *dataplane) []api.Note {
	if p.object.Bound() == nil || !x.isGuarded() {
		return nil
	}
	var barred, open []string
	var claims []unproved
	for id, of := range x.claimedBy(p) {
		behind, _ := x.members.Get(x.at, id)
		if behind == nil {
			continue
		}
		claims = append(claims, of...)
		if slices.ContainsFunc(behind.left, func(l effective.LeftOut) bool { return l.Dataplane == p.object.Ref }) {
			barred = append(barred, id)
		} else {
			open = append(open, id)
		}
	}
	slices.Sort(barred)
	slices.Sort(open)
	slices.SortFunc(claims, func(a, b unproved) int { return strings.Compare(a.String(), b.String()) })
	claims = slices.Compact(claims)
	mend := fmt.Sprintf("issue another token by `%s`, or apply the Dataplane", proving(p.object, claims))
	var notes []api.Note
	if len(barred) > 0 {
		notes = append(notes, api.Notef(p.origin(), api.Error, api.CodeUnprovenMember, "", "by %s it would answer for %s, which takes mutual TLS alone, and its token does not prove that, so nobody is led to it; %s", claimsText(claims), someNames(barred), mend))
	}
	if len(open) > 0 {
		notes = append(notes, api.Notef(p.origin(), api.Warning, api.CodeUnprovenMember, "", "by %s it answers for %s, and its token does not prove that: where mode Strict begins nobody is led to it any more; %s", claimsText(claims), someNames(open), mend))
	}
	return notes
}

// claimedBy are the destinations for which a dataplane answers, or would, by what it has not proved.
func (m servicesMesh) claimedBy(p *dataplane) map[string][]unproved {
	out := map[string][]unproved{}
	add := func(id string, found []member) {
		for _, x := range found {
			if x.plane == p && len(x.claims) > 0 {
				out[id] = x.claims
			}
		}
	}
	seen := map[string]bool{}
	carried(p, func(label string) {
		if seen[label] {
			return
		}
		seen[label] = true
		for s := range m.servicesByTarget.Values(m.at, label) {
			for _, d := range s.dests {
				switch spec := s.object.Spec.(type) {
				case *api.MeshService:
					add(d.ID, m.selectedOf(p, s.object, spec, d.Port, nil))
				case *api.Service:
					for i := range spec.Ports {
						if at := &spec.Ports[i]; at.OverTCP() && at.Port == d.Port {
							add(d.ID, m.chosenOf(p, s.object, spec, at, nil))
						}
					}
				}
			}
		}
	})
	for i := range p.spec.Networking.Inbound {
		if name := p.spec.Networking.Inbound[i].Tags[api.TagService]; name != "" {
			if claims := p.tagClaims(map[string]string{api.TagService: name}); len(claims) > 0 {
				out[classicID(name)] = claims
			}
		}
	}
	return out
}

// proving is the command that issues a token which binds what the last one does, and claims too.
func proving(o *api.Object, claims []unproved) string {
	proof, words := o.Bound(), []string{}
	add := func(word string, all map[string][]string) {
		for k, values := range all {
			for _, v := range values {
				words = append(words, "--"+word+" "+k+"="+v)
			}
		}
	}
	add(tagClaim, proof.Tags)
	add(labelClaim, proof.Labels)
	for _, c := range claims {
		words = append(words, "--"+c.word+" "+c.key+"="+c.value)
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
	for id, behind := range x.members.All(x.at) {
		for _, l := range behind.left {
			out[l.Dataplane] = append(out[l.Dataplane], id)
		}
	}
	return out
}
