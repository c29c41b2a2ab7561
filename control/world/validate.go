package world

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
)

// Report is what validation says offline (spec/contract.md 8 and 9).
type Report struct {
	Documents  int                 `json:"documents"`
	Violations []inspect.Violation `json:"violations"`
	Conditions []DocumentCondition `json:"conditions"`
}

// DocumentCondition is one that a document would get if the documents were the world.
type DocumentCondition struct {
	Object  string `json:"object"`
	Parent  string `json:"parent,omitempty"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Validate says what is wrong with the documents read, as a control plane without
// settings does.
func Validate(r Reading) Report { return Settings{}.Validate(r) }

// Validate says what is wrong with the documents read, each by itself and all
// together: what a control plane without any others says when they are applied.
func (s Settings) Validate(r Reading) Report {
	violations, model := s.Findings(r)
	report := Report{Documents: r.Documents, Violations: make([]inspect.Violation, len(violations)), Conditions: conditionsIn(model, r.Objects)}
	for i, v := range violations {
		report.Violations[i] = inspect.ViolationOf(v)
	}
	return report
}

// Findings are what is wrong with the documents read, in the order of their places, and the
// model of a world that they are.
func (s Settings) Findings(r Reading) ([]*api.Violation, *resolve.Model) {
	all := slices.Concat(r.Objects, r.Refused)
	elsewhere := unwritten(all)
	violations := append(WarnOfOthers(slices.Clone(r.Violations)), admission.Check(catalog, Snapshot(elsewhere...), all)...)
	violations = append(violations, s.assumed(elsewhere, all)...)
	model, _ := s.Compile(Snapshot(append(elsewhere, r.Objects...)...))
	refused := admission.Alone(Snapshot(), r.Objects, model, admission.Sources{System: s.SystemNamespaces, Now: time.Now()})
	told := slices.DeleteFunc(Warnings(model), func(w *api.Violation) bool { // as an error
		return slices.ContainsFunc(refused, func(v *api.Violation) bool {
			return v.Object == w.Object && v.Field == w.Field && v.Message == w.Message
		})
	})
	violations = append(violations, refused...)
	violations = append(violations, admission.Unopened(Snapshot(), admission.Puts(r.Objects))...)
	violations = append(violations, notes.Unreported(violations, told)...)
	Sort(violations)
	return violations, model
}

// unwritten are the meshes that objects are in and no document makes, so that
// all else that is to be said of the objects is said too.
func unwritten(objects []*api.Object) []*api.Object {
	seen := map[string]bool{"": true, api.DefaultMesh: true}
	for _, o := range objects {
		if o.Kind == api.KindMesh {
			seen[o.Name] = true
		}
	}
	var meshes []*api.Object
	for _, o := range objects {
		if !seen[o.Mesh] {
			seen[o.Mesh] = true
			meshes = append(meshes, &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: o.Mesh}, Spec: new(api.Mesh)})
		}
	}
	return meshes
}

// assumed are warnings of meshes that no document makes and nobody said are elsewhere, one for each.
func (s Settings) assumed(meshes, all []*api.Object) (out []*api.Violation) {
	for _, m := range meshes {
		if slices.Contains(s.AssumedMeshes, m.Name) {
			continue
		}
		first := slices.IndexFunc(all, func(o *api.Object) bool { return o.Mesh == m.Name })
		v := api.Path("mesh").Warns("MeshNotFound", "no document is the Mesh %s, so it is taken as one without settings; write --assume-mesh %s if it is elsewhere", redact.Clip(m.Name), redact.Clip(m.Name))
		v.Object, v.Position = all[first].Ref, syntax.Locate(all[first].Source, "mesh")
		out = append(out, v)
	}
	return out
}

// Failed reports whether the documents are refused; strict counts warnings too.
func (r Report) Failed(strict bool) bool {
	for _, v := range r.Violations {
		if v.Severity == api.Error || strict && v.Severity == api.Warning {
			return true
		}
	}
	return false
}

// Warnings is what the model has to say about its objects, as warnings at the
// lines of their documents: references that lead nowhere, fields without
// effect. What depends on the rest of the world never refuses a document.
func Warnings(m *resolve.Model) []*api.Violation {
	var out []*api.Violation
	places := notes.LocatorIn(m.Snapshot())
	for _, n := range notes.All(m.Reader(nil)) {
		if n.Severity == api.Info || n.Origin == nil {
			continue
		}
		out = append(out, &api.Violation{Position: places.Of(n), Object: n.Origin.Ref, Field: n.Field, Code: n.Code, Message: n.Message, Severity: api.Warning})
	}
	return out
}
