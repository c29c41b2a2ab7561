package admission

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// unknownMaterial is what keeps a Secret from being stored: values that stand for
// material as it was shown, where the object before has no such material, and what is
// wrong with values that are kept beside new ones.
func unknownMaterial(before, o *api.Object) []*api.Violation {
	if hasMaterial(o) {
		return nil
	}
	kept, unknown := o.Spec.(*api.Secret).Keep(secretOf(before))
	var found []*api.Violation
	for _, k := range unknown {
		found = append(found, api.Path("data").Key(redact.Clip(k)).Breaks("stands for a value that is not stored under this name; write the value itself, in base64"))
	}
	if len(unknown) == 0 {
		found = api.Violations(kept.Validate(""))
	}
	for _, v := range found {
		v.Object, v.Position = o.Ref, api.Position{File: o.Source.File, Line: o.Source.Line, Column: 1}
	}
	return found
}

// withMaterial is o with the values of before where it only names them as shown.
func withMaterial(before, o *api.Object) *api.Object {
	if hasMaterial(o) {
		return o
	}
	out := *o
	out.Spec, _ = o.Spec.(*api.Secret).Keep(secretOf(before))
	return &out
}

// hasMaterial reports whether o holds all of its values itself.
func hasMaterial(o *api.Object) bool {
	s, ok := o.Spec.(*api.Secret)
	return !ok || s.Resolved()
}

func secretOf(o *api.Object) *api.Secret {
	if o == nil {
		return nil
	}
	s, _ := o.Spec.(*api.Secret)
	return s
}
