package conditions

import (
	"fmt"

	"github.com/weftmesh/weft/api"
)

// Unread is what no object can be named for: a file, or part of one, that holds
// no documents as it is.
type Unread struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// refusals are the errors about objects whose text, as it stands now, is refused.
type refusals map[api.Ref][]*api.Violation

func refusalsOf(violations []*api.Violation) refusals {
	out := refusals{}
	for _, v := range violations {
		if v.Object.Name != "" && v.Severity == api.Error && !aboutAuthority(v) {
			out[v.Object] = append(out[v.Object], v)
		}
	}
	return out
}

// RefusedOf is the condition of an object that violations refuse; not ok where
// they do not. It is held where an earlier version is in force.
func RefusedOf(ref api.Ref, held bool, violations []*api.Violation) (c Condition, ok bool) {
	return refusalsOf(violations).condition(ref, held)
}

func (r refusals) condition(ref api.Ref, held bool) (c Condition, ok bool) {
	found := r[ref]
	if len(found) == 0 {
		return c, false
	}
	c = Condition{Type: "Accepted", Status: "False", Reason: "Invalid", Message: found[0].Error()}
	if more := len(found) - 1; more > 0 {
		c.Message += fmt.Sprintf("; and %d more, see _problems", more)
	}
	if held {
		c.Message += "; the last good version stays in force"
	}
	return c, true
}

// refuse puts what is wrong with the text of an object in the place of the
// verdict on the version that holds.
func (s *Status) refuse(r refusals) {
	if c, ok := r.condition(s.Ref, true); ok {
		c.Dataplanes = s.Dataplanes
		s.Conditions[0] = c // Accepted comes first
	}
}

// others are the refused objects of the mesh that have no status else: those
// that never were good, and those of kinds without conditions. Objects outside
// all meshes are everybody's.
func (r refusals) others(mesh string, had []api.Ref) []api.Ref {
	if len(r) == 0 {
		return nil
	}
	seen := map[api.Ref]bool{}
	for _, ref := range had {
		seen[ref] = true
	}
	var out []api.Ref
	for ref := range r {
		here := ref.Mesh == mesh || ref.Mesh == "" && (ref.Kind != api.KindMesh || ref.Name == mesh)
		if !seen[ref] && here {
			out = append(out, ref)
		}
	}
	return out
}

// unread are the errors that name no object.
func unread(violations []*api.Violation) []Unread {
	var out []Unread
	for _, v := range violations {
		if v.Object.Name == "" && v.Severity == api.Error {
			text := v.Message
			if v.Field != "" {
				text = string(v.Field) + ": " + text
			}
			out = append(out, Unread{v.File, v.Line, v.Column, text})
		}
	}
	return out
}
