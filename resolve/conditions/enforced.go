package conditions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// mostNamed bounds how many names a note gives.
const mostNamed = 5

// enforcedNotes say of a policy that names callers which of them there are not, and where it is
// not carried out.
func enforcedNotes(x Mesh, p *index.Policy) []api.Note {
	by := x.Kinds[p.Kind].Authorizer
	if by == nil || p.Object.Shadow() {
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
	for _, n := range by.Callers(p.Object.Spec.(*policies.Spec)) {
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
		seen := map[authorization.InboundPlacement]bool{}
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

// codeUnmet is that of a rule, or of one of its matches, which no request meets.
const codeUnmet = "RuleUnmet"

// unmetNotes are about the matches of a rule that no request meets, whatever other rules take. Calls
// says that only gRPC is spoken to what the entry is about.
func unmetNotes(e *route.Entry, rule *route.Rule, calls bool) []api.Note {
	how := readingOf(e)
	var notes []api.Note
	for i := range rule.Matches {
		m := &rule.Matches[i]
		why := m.Unmet(how)
		if why == "" && calls && otherThanPOST(m.Conditions) {
			why = "calls of gRPC are POST; leave the method out"
		}
		if why == "" {
			continue
		}
		notes = append(notes, unmetNote(rule, m, why))
	}
	return notes
}

// unmetNote is about one match of a rule.
func unmetNote(rule *route.Rule, m *match.Match, why string) api.Note {
	what := "it takes no request"
	if len(rule.Matches) > 1 {
		what = fmt.Sprintf("its match %s takes no request", redact.Clip(m.Short()))
	}
	return api.Notef(rule.Origin, api.Warning, codeUnmet, rule.Origin.Field, "%s: %s", what, why)
}

// readingOf is how paths are read where an entry is about requests.
func readingOf(e *route.Entry) match.PathNormalization {
	if e.To.Kind == api.KindHost {
		return match.Merged
	}
	return match.Read
}

// otherHostNotes are about the matches of a route that ask for a host, and for none of those that
// their rule is for.
func otherHostNotes(r *index.Route) []api.Note {
	type place struct {
		rule  api.Path
		match int
	}
	var notes []api.Note
	hosts, met := map[place][]string{}, map[place]bool{}
	eachAskingHost(r, func(e *route.Entry, rule *route.Rule, i int) {
		at := place{rule.Origin.Field, i}
		if e.To.Kind == api.KindHost && rule.Matches[i].UnmetAt(e.To.Name, readingOf(e)) {
			hosts[at] = append(hosts[at], e.To.Name)
		} else {
			met[at] = true
		}
	})
	eachAskingHost(r, func(e *route.Entry, rule *route.Rule, i int) {
		at, m := place{rule.Origin.Field, i}, &rule.Matches[i]
		if met[at] || m.Unmet(readingOf(e)) != "" { // which is said
			return
		}
		met[at] = true
		notes = append(notes, unmetNote(rule, m, fmt.Sprintf("its hosts are %s, and it asks for another one; leave that out, or add the host", redact.Clip(strings.Join(hosts[at], ", ")))))
	})
	return notes
}

// eachAskingHost tells of the matches of rules for requests that ask for a host, by the entries that
// they are in: of few.
func eachAskingHost(r *index.Route, f func(e *route.Entry, rule *route.Rule, match int)) {
	if r.Parsed.Connections {
		return
	}
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		for j := range e.Rules {
			rule := &e.Rules[j]
			for k := range rule.Matches {
				if rule.Origin != nil && rule.Matches[k].Count(match.OnAuthority) > 0 {
					f(e, rule, k)
				}
			}
		}
	}
}

// otherThanPOST reports whether conditions ask for another method.
func otherThanPOST(cs match.Conditions) bool {
	return slices.ContainsFunc(cs, func(c match.Condition) bool {
		return c.On == match.OnMethod && !c.Holds(&match.Request{Method: "POST"})
	})
}

// VoidNotes are about the entries of a policy that hold of no request: errors, where they are to keep
// somebody out.
func VoidNotes(x Mesh, p *index.Policy) []api.Note {
	by := x.Kinds[p.Kind].Authorizer
	if by == nil {
		return nil
	}
	var notes []api.Note
	for _, v := range by.Void(p.Object.Spec.(*policies.Spec)) {
		severity := api.Warning
		if v.Protects {
			severity = api.Error
		}
		notes = append(notes, api.Notef(&api.Origin{Ref: p.Object.Ref, Field: v.Entry}, severity, codeUnmet, v.Field, "%s", v.Message))
	}
	return notes
}
