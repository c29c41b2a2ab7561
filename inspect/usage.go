package inspect

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// usage is where the objects of a mesh take part, and what Envoys do not get of
// them. It is gathered in one walk, in which every shared value is read once.
type usage struct {
	effective map[api.Ref][]api.Ref              // object -> dataplanes, in their order
	parts     map[api.Ref]map[api.Path]*standing // entry of an object: an item of a policy, a rule of a route
	tables    map[*resolve.Table][]api.Ref
	confs     map[*policies.Effective][]api.Ref
	notes     map[api.Ref][]api.Note // what look found
}

// standing is how an entry fares.
type standing struct {
	wins   bool          // something that it says holds somewhere
	losers []*api.Origin // who took the place where it does not, each once
}

func newUsage() *usage {
	return &usage{effective: map[api.Ref][]api.Ref{}, parts: map[api.Ref]map[api.Path]*standing{},
		tables: map[*resolve.Table][]api.Ref{}, confs: map[*policies.Effective][]api.Ref{}, notes: map[api.Ref][]api.Note{}}
}

func usageOf(m *resolve.Model, mesh string) *usage {
	u := newUsage()
	var lost remarks
	look := lookAt(m)
	for r := range m.Dataplanes(mesh) {
		for _, ref := range u.ofDataplane(r) {
			u.effective[ref] = append(u.effective[ref], r.Ref)
		}
		lost.add(look.at(r)...)
	}
	for _, n := range lost.notes {
		u.notes[owner(n)] = append(u.notes[owner(n)], n)
	}
	return u
}

// ofDataplane are the objects that take part on r, each once.
func (u *usage) ofDataplane(r *resolve.Resolved) []api.Ref {
	var refs []api.Ref
	for _, o := range r.Outbounds {
		refs = append(refs, u.ofOutbound(o)...)
	}
	for _, c := range r.Clusters {
		refs = append(refs, u.ofPolicies(c.Policies)...)
	}
	for _, in := range r.Inbounds {
		refs = append(refs, u.ofPolicies(in.Policies)...)
	}
	return distinct(refs)
}

func (u *usage) ofOutbound(o *resolve.Outbound) []api.Ref {
	refs := slices.Clone(u.ofPolicies(o.Policies))
	if o.Table != nil {
		refs = append(refs, u.ofTable(o.Table)...)
	}
	return refs
}

func distinct(refs []api.Ref) []api.Ref {
	slices.SortFunc(refs, api.Ref.Compare)
	return slices.Compact(refs)
}

func (u *usage) standing(o *api.Origin) *standing {
	entries := u.parts[o.Ref]
	if entries == nil {
		entries = map[api.Path]*standing{}
		u.parts[o.Ref] = entries
	}
	s := entries[o.Field]
	if s == nil {
		s = &standing{}
		entries[o.Field] = s
	}
	return s
}

// loses notes that by stands where o would.
func (s *standing) loses(by *api.Origin) {
	if !slices.ContainsFunc(s.losers, by.Same) {
		s.losers = append(s.losers, by)
	}
}

func (u *usage) ofTable(t *resolve.Table) []api.Ref {
	if refs, ok := u.tables[t]; ok {
		return refs
	}
	var refs []api.Ref
	for i, rt := range t.Routes {
		refs = append(refs, u.ofPolicies(rt.Policies)...)
		by := shadow(t.Routes[:i], &rt.Match)
		for n, o := range rt.Origins {
			refs = append(refs, o.Ref)
			s := u.standing(o)
			switch {
			case by != nil && len(by.Origins) > 0:
				s.loses(by.Origins[len(by.Origins)-1])
			case n == len(rt.Origins)-1 || rt.FiltersBy != nil && rt.FiltersBy.Same(o) || rt.BackendsBy != nil && rt.BackendsBy.Same(o):
				s.wins = true
			default:
				s.loses(rt.Origins[len(rt.Origins)-1])
			}
		}
	}
	refs = distinct(refs)
	u.tables[t] = refs
	return refs
}

func (u *usage) ofPolicies(list resolve.Policies) []api.Ref {
	var refs []api.Ref
	for _, e := range list {
		refs = append(refs, u.ofConf(e)...)
	}
	return refs
}

func (u *usage) ofConf(e *policies.Effective) []api.Ref {
	if refs, ok := u.confs[e]; ok {
		return refs
	}
	var refs []api.Ref
	for _, f := range e.Fields {
		winner := f.Winner().Origin
		for i, s := range f.Said {
			if s.Origin.Name == "" {
				continue // a built-in default
			}
			refs = append(refs, s.Origin.Ref)
			if st := u.standing(s.Origin); i == len(f.Said)-1 {
				st.wins = true
			} else {
				st.loses(winner)
			}
		}
	}
	refs = distinct(refs)
	u.confs[e] = refs
	return refs
}
