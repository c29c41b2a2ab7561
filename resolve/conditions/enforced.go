package conditions

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// mostNamed bounds how many names a note gives.
const mostNamed = 5

// enforcedNotes say of a policy that names callers which of them there are not, and where it is
// not carried out.
func enforcedNotes(x Mesh, p *index.Policy) []api.Note {
	k := x.Kinds[p.Kind]
	if k.Names == nil || p.Object.Shadow() {
		return nil
	}
	origin := &api.Origin{Ref: p.Object.Ref}
	if !x.HasIdentities() {
		return []api.Note{api.Notef(origin, api.Warning, "NotEnforced", "", "the mesh does not prove who calls, so that anybody is let in; give it mtls, or a MeshIdentity")}
	}
	var notes []api.Note
	if open := x.unproved(p); open > 0 {
		many := strconv.Itoa(open)
		if open >= mostOpen {
			many = "more than " + many
		}
		notes = append(notes, api.Notef(origin, api.Warning, "NotEnforced", "", "at %s inbounds nobody proves who calls, so that anybody is let in there: their dataplanes have no identity, or their sidecars have not proved it yet", many))
	}
	notes = append(notes, askedNotes(x, p)...)
	notes = append(notes, closedNotes(x, p)...)
	for _, n := range k.Names(p.Object.Spec.(*policies.Spec)) {
		notes = append(notes, x.nameNote(origin, n)...)
	}
	return append(notes, x.sharedNotes(p)...)
}

// mostOpen is up to how many inbounds are counted at which nobody proves who calls: a policy of
// a whole mesh is not worth a look at all of it.
const mostOpen = 1000

// unproved counts the inbounds that the policy is about at which nobody proves who calls, up to
// mostOpen. It looks at those of which some are, which as a rule are few.
func (m Mesh) unproved(p *index.Policy) (open int) {
	if m.AuthorizesRoutes(p) {
		seen := map[authorization.Placement]bool{}
		for at := range m.PlacementsOf(p) {
			if in, _ := m.Inbounds.Get(m.At, at.Plane); in != nil && !seen[at] && open < mostOpen {
				seen[at] = true
				open += index.Btoi(slices.ContainsFunc(in.List, func(x effective.InboundUse) bool {
					return index.JoinedAddress(x.Address, x.Port) == at.At && x.Is(effective.OpenInbounds)
				}))
			}
		}
		return open
	}
	for key, in := range m.InboundsIn.In(m.At, effective.OpenInbounds) {
		d := index.Need(m.Dataplanes, m.At, key)
		if open >= mostOpen || !p.Selector.Selects(&d.Facts) {
			continue
		}
		for _, x := range in.List {
			open += index.Btoi(x.Is(effective.OpenInbounds) && p.Selector.SelectsInbound(&d.Facts, x.Tags) && p.OnSection(x.Inbound))
		}
	}
	return open
}

// nameNote is about one name: an exact one that nobody has, or a prefix of which an allow and a
// deny do not read the same.
func (m Mesh) nameNote(origin *api.Origin, n policies.Named) []api.Note {
	if n.Prefix {
		var differ []string
		for s := range m.DataplaneTLS.Values(m.At) {
			for _, name := range s.Names {
				if spiffe.Begins(name, n.Name) && !spiffe.Under(name, n.Name) && !slices.Contains(differ, name) {
					differ = append(differ, name)
				}
			}
		}
		if len(differ) == 0 {
			return nil
		}
		slices.Sort(differ)
		return []api.Note{api.Notef(origin, api.Warning, "OpenPrefix", n.Field, "as a beginning of text it holds of %s too, where segments end elsewhere: an allow does not take it so, and a deny does; write a whole segment",
			strings.Join(differ[:min(len(differ), mostNamed)], ", "))}
	}
	var all []string
	for s := range m.DataplaneTLS.Values(m.At) {
		for _, name := range s.Names {
			if name == n.Name {
				return nil
			}
			if strings.HasPrefix(name, spiffe.Scheme) && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	id, err := spiffe.Parse(n.Name)
	if domain, _ := m.OwnDomains.Get(m.At, id.Domain); err != nil || domain == nil && m.believes(id.Domain) {
		return nil // of another mesh, whose workloads nobody here knows
	}
	slices.Sort(all)
	return []api.Note{api.Notef(origin, api.Warning, "UnknownIdentity", n.Field, "no workload of the mesh is %s%s", n.Name, DidYouMean(n.Name, all))}
}

// believes reports whether somebody speaks for a trust domain.
func (m Mesh) believes(domain string) bool {
	d, _ := m.Domains.Get(m.At, domain)
	return d != nil
}

// sharedNotes say which items of from are about some of the workloads that have one name, and
// not about others.
func (m Mesh) sharedNotes(p *index.Policy) []api.Note {
	var notes []api.Note
	for _, it := range p.Inbound {
		if !strings.HasPrefix(string(it.Field), "spec.from") {
			continue
		}
		sure, maybe := m.NamesOf(&it.Target)
		shared := slices.DeleteFunc(slices.Clone(maybe), func(name string) bool { return slices.Contains(sure, name) })
		if len(shared) > 0 {
			notes = append(notes, api.Notef(it.Origin, api.Warning, "SharedIdentity", it.Field.Field("targetRef"),
				"workloads that it is about share %s with others, so that nobody can tell who calls: to deny some denies all, and to allow some allows none; give them identities of their own",
				strings.Join(shared[:min(len(shared), mostNamed)], ", ")))
		}
	}
	return notes
}
