package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/sim/permission"
)

// spelled warns where inbounds would refuse other spellings of paths than one, and did not: that is of
// all their requests, whoever calls (spec/identity.md 4.4).
func spelled(s step.Comparison) []*api.Violation {
	var places []string
	var first api.Ref
	for _, ref := range s.Affected {
		if s.See != nil && !s.See(ref) {
			continue
		}
		before, had := s.Before.Dataplane(ref)
		after, has := s.After.Dataplane(ref)
		if !had || !has {
			continue
		}
		for _, x := range access.Counterparts(before, after) {
			if permission.OneSpelling(x.After) && x.Before != nil && !permission.OneSpelling(x.Before) {
				first = ref
				places = append(places, fmt.Sprintf("port %d of %s", x.After.Port, ref.FullName()))
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	at := places[:min(len(places), 3)]
	text := strings.Join(at, ", ")
	if more := len(places) - len(at); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []*api.Violation{{Object: because(s, first), Code: "EscapedSlashRefused", Severity: api.Warning,
		Message: fmt.Sprintf("requests with %%2F or %%5C in their path are refused with 400 from then on, and // becomes /, at %s, whoever calls: %s; who may call depends on paths there", terminal.Counted(len(places), "inbound", "inbounds"), text)}}
}

// because is the first permission that the step brings or changes, else the dataplane.
func because(s step.Comparison, dataplane api.Ref) api.Ref {
	i := slices.IndexFunc(s.Touched, func(ref api.Ref) bool {
		o, ok := s.After.Snapshot().Get(ref)
		if !ok {
			return false
		}
		spec, policy := o.Spec.(*policies.Spec)
		return policy && spec.Kind.RulesOnRoutes
	})
	if i < 0 {
		return dataplane
	}
	return s.Touched[i]
}
