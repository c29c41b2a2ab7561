package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

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
func readingOf(e *route.Entry) match.Reading {
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
	k := x.Kinds[p.Kind]
	if k.Void == nil {
		return nil
	}
	var notes []api.Note
	for _, v := range k.Void(p.Object.Spec.(*policies.Spec)) {
		severity := api.Warning
		if v.Protects {
			severity = api.Error
		}
		notes = append(notes, api.Notef(&api.Origin{Ref: p.Object.Ref, Field: v.Entry}, severity, codeUnmet, v.Field, "%s", v.Message))
	}
	return notes
}
