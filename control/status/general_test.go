package status_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/status"
)

// TestNamesSayWhereTheyResolve: a generated name that nobody lost says beside how many
// dataplanes it resolves, where some call by name.
func TestNamesSayWhereTheyResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status             string
		resolving, callers int
		want               string
	}{
		{"True", 3, 40, "it is called a.mesh; 3 of 40 dataplanes resolve it"},
		{"True", 0, 0, "it is called a.mesh"},
		{"False", 3, 40, "it is called a.mesh"},
	} {
		report := &api.ServiceReport{HostnameGenerators: []api.GeneratorReport{{Conditions: []api.StatusCondition{{Type: "Generated", Status: c.status, Message: "it is called a.mesh"}}}}}
		status.TellResolving(report, c.resolving, c.callers)
		if got := report.HostnameGenerators[0].Conditions[0].Message; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
