package resolve

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// codeUnmet is that of a rule, or of one of its matches, which no request meets.
const codeUnmet = "RuleUnmet"

// unmetNotes are about the matches of a rule that no request meets, whatever other rules take. Calls
// says that only gRPC is spoken to what the entry is about.
func unmetNotes(e *route.Entry, rule *route.Rule, calls bool) []api.Note {
	how := route.Read
	if e.To.Kind == api.KindHost {
		how = route.Merged
	}
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
		what := "it takes no request"
		if len(rule.Matches) > 1 {
			what = fmt.Sprintf("its match %s takes no request", api.Clip(m.Short()))
		}
		notes = append(notes, note(rule.Origin, api.Warning, codeUnmet, rule.Origin.Field, "%s: %s", what, why))
	}
	return notes
}

// otherThanPOST reports whether conditions ask for another method.
func otherThanPOST(cs route.Conditions) bool {
	return slices.ContainsFunc(cs, func(c route.Condition) bool {
		return c.On == route.OnMethod && !c.Holds(&route.Request{Method: "POST"})
	})
}

// voidNotes are about the entries of a policy that hold of no request: errors, where they are to keep
// somebody out.
func voidNotes(x mesh, p *policy) []api.Note {
	k := x.kinds[p.kind]
	if k.Void == nil {
		return nil
	}
	var notes []api.Note
	for _, v := range k.Void(p.object.Spec.(*policies.Spec)) {
		severity := api.Warning
		if v.Protects {
			severity = api.Error
		}
		notes = append(notes, note(&api.Origin{Ref: p.object.Ref, Field: v.Entry}, severity, codeUnmet, v.Field, "%s", v.Message))
	}
	return notes
}
