package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
)

// mostNamed bounds how many names a note gives.
const mostNamed = 5

// enforcedNotes say of a policy that names callers which of them there are not, and where it is
// not carried out.
func enforcedNotes(x mesh, p *policy) []api.Note {
	k := x.kinds[p.kind]
	if k.Names == nil || p.object.Shadow() {
		return nil
	}
	origin := &api.Origin{Ref: p.object.Ref}
	if !x.isGuarded() {
		return []api.Note{note(origin, api.Warning, "NotEnforced", "", "the mesh does not prove who calls, so that anybody is let in; give it mtls, or a MeshIdentity")}
	}
	var notes []api.Note
	if open, all := x.unproved(p); open > 0 {
		notes = append(notes, note(origin, api.Warning, "NotEnforced", "", "at %d of %d inbounds nobody proves who calls, so that anybody is let in there: their dataplanes have no identity, or their sidecars have not proved it yet", open, all))
	}
	for _, n := range k.Names(p.object.Spec.(*policies.Spec)) {
		notes = append(notes, x.nameNote(origin, n)...)
	}
	return append(notes, x.sharedNotes(p)...)
}

// unproved counts the inbounds that the policy is about at which nobody proves who calls.
func (m mesh) unproved(p *policy) (open, all int) {
	for d := range m.selecting(p.selector) {
		s, _ := m.secured.Get(m.at, objectKey(d.object.Ref))
		for i := range d.spec.Networking.Inbound {
			if !p.selector.SelectsInbound(&d.facts, d.spec.Networking.Inbound[i].Tags) {
				continue
			}
			if all++; s == nil || s.list[i] == nil {
				open++
			}
		}
	}
	return open, all
}

// nameNote is about one name: an exact one that nobody has, or a prefix of which an allow and a
// deny do not read the same.
func (m mesh) nameNote(origin *api.Origin, n policies.Named) []api.Note {
	if n.Prefix {
		var differ []string
		for id := range m.identities.Values(m.at) {
			for _, name := range id.Names {
				if spiffe.Begins(name, n.Name) && !spiffe.Under(name, n.Name) && !slices.Contains(differ, name) {
					differ = append(differ, name)
				}
			}
		}
		if len(differ) == 0 {
			return nil
		}
		slices.Sort(differ)
		return []api.Note{note(origin, api.Warning, "OpenPrefix", n.Field, "as a beginning of text it holds of %s too, where segments end elsewhere: an allow does not take it so, and a deny does; write a whole segment",
			strings.Join(differ[:min(len(differ), mostNamed)], ", "))}
	}
	var all []string
	for id := range m.identities.Values(m.at) {
		for _, name := range id.Names {
			if name == n.Name {
				return nil
			}
			if strings.HasPrefix(name, spiffe.Scheme) && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	id, err := spiffe.Parse(n.Name)
	if domain, _ := m.ownDomains.Get(m.at, id.Domain); err != nil || domain == nil && m.believes(id.Domain) {
		return nil // of another mesh, whose workloads nobody here knows
	}
	slices.Sort(all)
	return []api.Note{note(origin, api.Warning, "UnknownIdentity", n.Field, "no workload of the mesh is %s%s", n.Name, didYouMean(n.Name, all))}
}

// believes reports whether somebody speaks for a trust domain.
func (m mesh) believes(domain string) bool {
	d, _ := m.domains.Get(m.at, domain)
	return d != nil
}

// sharedNotes say which items of from are about some of the workloads that have one name, and
// not about others.
func (m mesh) sharedNotes(p *policy) []api.Note {
	var notes []api.Note
	for _, it := range p.inbound {
		if !strings.HasPrefix(string(it.field), "spec.from") {
			continue
		}
		sure, maybe := m.namesOf(&it.target)
		shared := slices.DeleteFunc(slices.Clone(maybe), func(name string) bool { return slices.Contains(sure, name) })
		if len(shared) > 0 {
			notes = append(notes, note(it.origin, api.Warning, "SharedIdentity", it.field.Field("targetRef"),
				"workloads that it is about share %s with others, so that nobody can tell who calls: to deny some denies all, and to allow some allows none; give them identities of their own",
				strings.Join(shared[:min(len(shared), mostNamed)], ", ")))
		}
	}
	return notes
}
