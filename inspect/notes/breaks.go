package notes

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// Breaks is what is wrong after a change of documents and was not before it, with
// objects that the change does not touch: references that lost what they name. Nothing refers
// to policies, so a change of nothing else breaks nothing.
func Breaks(before, after *resolve.Model, touched ...api.Ref) []*api.Violation {
	if onlyPolicies(before, after, touched) && len(after.Failures()) == 0 {
		return nil
	}
	type finding struct {
		ref   api.Ref
		field api.Path
		code  string
		text  string
	}
	of := func(n api.Note) finding {
		what, _, _ := strings.Cut(n.Message, ";") // the advice after it may name what goes
		return finding{owner(n), n.Field, n.Code, what}
	}
	known := map[finding]bool{}
	for n := range before.Notes() {
		known[of(n)] = true
	}
	var out []*api.Violation
	places := LocatorIn(after.Snapshot())
	for n := range after.Notes() {
		if n.Severity == api.Info || known[of(n)] || slices.Contains(touched, owner(n)) {
			continue
		}
		known[of(n)] = true
		v := &api.Violation{Position: places.Of(n), Object: owner(n), Field: n.Field, Code: n.Code, Message: strings.TrimSpace(n.Message), Severity: api.Warning}
		if lostPermission(after, n) {
			v.Code, v.Message = permissionLost, "its route goes, so callers would no longer be checked: "+v.Message
		}
		out = append(out, v)
	}
	return out
}

// permissionLost is the code of a permission on a route that a change takes away
// (spec/identity.md 4.5).
const permissionLost = "PermissionLost"

// lostPermission reports whether a note says that a permission on a route has no route any more.
func lostPermission(m *resolve.Model, n api.Note) bool {
	o, ok := m.Snapshot().Get(owner(n))
	if !ok || n.Code != "TargetNotFound" {
		return false
	}
	s, policy := o.Spec.(*policies.Spec)
	return policy && s.Kind.RulesOnRoutes && s.Top().IsRoute()
}

// onlyPolicies reports whether all that a change touches are policies, before and after it.
func onlyPolicies(before, after *resolve.Model, touched []api.Ref) bool {
	return len(touched) > 0 && !slices.ContainsFunc(touched, func(ref api.Ref) bool {
		return slices.ContainsFunc([]*resolve.Model{before, after}, func(m *resolve.Model) bool {
			o, ok := m.Snapshot().Get(ref)
			if !ok {
				return false
			}
			_, policy := o.Spec.(*policies.Spec)
			return !policy
		})
	})
}
