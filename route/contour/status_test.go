package contour_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/contour"
)

// TestStatusOfNotes: what is found, by this language or by others, stands in the status
// by the types and reasons of Contour.
func TestStatusOfNotes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 32760-len("f: "))
	for _, c := range []struct {
		severity               api.Severity
		code, message          string
		current, wrong, warned string
	}{
		{api.Error, "RouteError/HeaderMatchConditionsNotValid", "m", "invalid", "RouteError HeaderMatchConditionsNotValid f: m", ""},
		{api.Warning, "SpecError/IgnoredField", "m", "valid", "", "SpecError IgnoredField f: m"},
		{api.Error, "Orphaned/Orphaned", "m", "orphaned", "Orphaned Orphaned f: m", ""},
		{api.Warning, "BackendNotFound", "m", "invalid", "ServiceError ServiceUnresolvedReference f: m", ""},
		{api.Warning, "PortRequired", "m", "invalid", "ServiceError ServiceUnresolvedReference f: m", ""},
		{api.Warning, "UnsupportedProtocol", "m", "invalid", "ServiceError UnsupportedProtocol f: m", ""},
		{api.Warning, "NoEndpoints", "m", "valid", "", "ServiceError NoEndpoints f: m"},
		{api.Error, "TargetNotFound", "m", "invalid", "SpecError TargetNotFound f: m", ""},
		{api.Warning, "MeshNotFound", "m", "valid", "", "SpecError MeshNotFound f: m"},
		{api.Info, "NoEffect", "m", "valid", "", ""},
		{api.Error, "Conflicted", "m", "valid; Accepted False Conflicted m", "", ""},
		{api.Error, "Conflicted", "f: " + long + "x", "valid; Accepted False Conflicted f: " + long, "", ""},
		{api.Error, "SpecError/Long", long, "invalid", "SpecError Long f: " + long, ""},
		{api.Error, "SpecError/Longer", long + "x", "invalid", "SpecError Longer f: " + long, ""},
	} {
		s := contour.Dialect.Status(route.Findings{Object: &api.Object{}, Notes: []api.Note{{Severity: c.severity, Code: c.code, Field: "f", Message: c.message}}}).(*contour.Status)
		var got [2]string
		for i, list := range [2][]contour.SubCondition{s.Conditions[0].Errors, s.Conditions[0].Warnings} {
			for _, x := range list {
				got[i] += fmt.Sprintf("%s %s %s", x.Type, x.Reason, x.Message)
			}
		}
		current := s.CurrentStatus
		for _, x := range s.Conditions[1:] {
			current += fmt.Sprintf("; %s %s %s %s", x.Type, x.Status, x.Reason, x.Message)
		}
		if diff := cmp.Diff([]string{c.current, c.wrong, c.warned}, []string{current, got[0], got[1]}); diff != "" {
			t.Errorf("%s %s:\n%s", c.severity, c.code, diff)
		}
	}
}
