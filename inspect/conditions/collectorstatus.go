package conditions

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
)

// conditionReferenced is whether policies name a MeshOpenTelemetryBackend.
const conditionReferenced = "ReferencedByPolicies"

// HasConditions reports whether an object that is neither policy nor route has conditions: one about
// identities, or a place for telemetry.
func HasConditions(o *api.Object) bool {
	_, collector := o.Spec.(*api.MeshOpenTelemetryBackend)
	return collector || TellsIdentity(o)
}

// ownStatus is how an object fares that HasConditions.
func ownStatus(m *resolve.Reader, o *api.Object, known inspect.FindSidecar, violations []*api.Violation) Status {
	if _, ok := o.Spec.(*api.MeshOpenTelemetryBackend); ok {
		return collectorStatus(m, o)
	}
	return identityStatus(m, o, known, violations)
}

// collectorStatus is how a place for telemetry fares: whether policies name it.
func collectorStatus(m *resolve.Reader, o *api.Object) Status {
	s := Status{Object: o.Ref.String(), Ref: o.Ref, Notes: m.NotesOn(o.Ref)}
	accepted := Condition{Type: "Accepted", Status: "True", Reason: "Accepted"}
	for _, n := range s.Notes {
		if n.Severity == api.Error {
			accepted.Status, accepted.Reason, accepted.Message = "False", n.Code, terminal.NoteText(n)
			break
		}
	}
	named := Condition{Type: conditionReferenced, Status: "False", Reason: "NotReferenced", Message: "no policy names it"}
	if by := m.NamingCollector(o.Ref); len(by) > 0 {
		named.Status, named.Reason = "True", "Referenced"
		names := make([]string, len(by))
		for i, ref := range by {
			names[i] = ref.String()
		}
		named.Message = fmt.Sprintf("named by %s", inspect.AtMostThree(names))
	}
	s.Conditions = []Condition{accepted, named}
	return s
}
