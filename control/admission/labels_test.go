package admission_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
)

// TestLabelsThatStay: whoever gives an object another label of those that stay is told which it has, or that it has
// none and gets none later.
func TestLabelsThatStay(t *testing.T) {
	t.Parallel()
	o := &api.Object{Ref: api.Ref{Kind: "MeshTimeout", Mesh: "default", Name: "a"}, Labels: map[string]string{api.LabelZone: "west"}}
	for was, want := range map[string]string{"east": `the label is "east" and cannot be changed`, "": "the label cannot be added later"} {
		v := admission.Fixed(o, api.LabelZone, was)
		if !strings.HasPrefix(v.Message, want) || v.Severity != api.Error || v.Object != o.Ref || !strings.Contains(string(v.Field), api.LabelZone) {
			t.Errorf("it was %q: %+v, want %s", was, v, want)
		}
	}
}
