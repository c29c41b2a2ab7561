package lint

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/sim"
)

// logsNothing: an empty list of where lines are written stands in the place of an operator's.
func logsNothing(v *view) (found []*api.Violation) {
	for _, r := range v.rows {
		for _, e := range r.Policies {
			l, ok := e.Conf.(sim.Logger)
			if !ok || len(l.LogsTo()) > 0 {
				continue
			}
			f, ok := e.Get(l.LogsField())
			if !ok || v.ofOperator(f.Winner().Origin) {
				continue
			}
			for _, s := range f.Said[:len(f.Said)-1] {
				if v.ofOperator(s.Origin) && someLogs(e.Kind, f.Field, s.Value) {
					v.gather(&found, v.about(setting{f.Winner(), l.LogsField()}, "LogsNothing", "no line of requests to %s is written, where %s wants one; leave the list out, if lines are wanted", r.where(), s.Origin.Ref))
					break
				}
			}
		}
	}
	return found
}

// someLogs reports whether lines go somewhere by a value of a field.
func someLogs(k *policies.Kind, field int, value any) bool {
	l, ok := k.Schema.Set(k.New(), map[string]any{k.Schema.Leaves[field].Path: value}).(sim.Logger)
	return ok && len(l.LogsTo()) > 0
}

// ofOperator reports whether those who run the mesh wrote something.
func (v *view) ofOperator(o *api.Origin) bool {
	if o == nil {
		return false
	}
	doc, ok := v.model.Snapshot().Get(o.Ref)
	if !ok {
		return false
	}
	_, policy := doc.Spec.(*policies.Spec)
	return policy && policies.Role(doc) == api.RoleSystem
}
