package conditions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// broken is a mistake in the text of an object, which the file world.yaml holds now.
func broken(kind, name string) *api.Violation {
	v := api.Path("spec.to").Breaks("is missing; write it")
	v.Object = api.Ref{Kind: kind, Mesh: "default", Name: name}
	v.Position = api.Position{File: "world.yaml", Line: 7, Column: 3}
	return v
}

// Status says of every document that is refused what is wrong with it and
// where, whether an earlier version is in force or not.
func TestStatusSaysWhichDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street)
	elsewhere := broken("MeshRetry", "far")
	elsewhere.Object.Mesh = "other"
	file := &api.Violation{Position: api.Position{File: "bad.yaml", Line: 2, Column: 1}, Code: "Syntax", Severity: api.Error, Message: "the text is not valid YAML; correct it"}
	doubtful := broken("MeshRetry", "mr-mesh")
	doubtful.Severity = api.Warning
	violations := []*api.Violation{broken("MeshRetry", "mr-dp"), broken("MeshRetry", "mr-dp"), broken("MeshTimeout", "never"), broken("Dataplane", "a-1"),
		doubtful, elsewhere, file}
	o := conditions.OverviewOf(m, "default", nil, violations...)
	got := map[string]conditions.Status{}
	for _, s := range o.Objects {
		got[s.Ref.Kind+"/"+s.Ref.Name] = s
	}
	const wrong, holds = "world.yaml:7:3: spec.to: is missing; write it", "; the last good version stays in force"
	for object, want := range map[string]string{
		"MeshRetry/mr-dp":   wrong + "; and 1 more, see _problems" + holds,
		"MeshTimeout/never": wrong,
		"Dataplane/a-1":     wrong + holds,
		"MeshRetry/mr-mesh": "",
	} {
		s := got[object]
		if len(s.Conditions) == 0 {
			t.Errorf("%s: no conditions", object)
			continue
		}
		c := s.Conditions[0]
		if refused := c.Type+"="+c.Status+"/"+c.Reason == "Accepted=False/Invalid"; refused != (want != "") || want != c.Message {
			t.Errorf("%s: %+v, want %q", object, c, want)
		}
	}
	if c := got["MeshRetry/mr-dp"].Conditions; len(c) != 3 || c[0].Dataplanes.Selected != 2 {
		t.Errorf("what holds is not told any more: %+v", c)
	}
	if len(o.Objects) != 8 {
		t.Errorf("%d objects, wanted the route, five policies, and two that are only refused", len(o.Objects))
	}
	if len(o.Unread) != 1 || o.Unread[0].File != "bad.yaml" || o.Unread[0].Line != 2 || !strings.Contains(o.Unread[0].Message, "not valid YAML") {
		t.Errorf("what cannot be read: %+v", o.Unread)
	}
	e, err := conditions.ExplainObject(m, violations[0].Object, nil, violations...)
	if err != nil || e.Conditions[0].Reason != "Invalid" {
		t.Errorf("its explanation: %v %+v", err, e.Conditions)
	}
}

// What is refused outside all meshes concerns each of them, a mesh only itself.
func TestStatusOfAMeshSaysWhatIsRefusedOutsideOfMeshes(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street)
	outside := func(kind, name string) *api.Violation {
		v := broken(kind, name)
		v.Object.Mesh = ""
		return v
	}
	before := len(conditions.OverviewOf(m, "default", nil).Objects)
	o := conditions.OverviewOf(m, "default", nil, outside("HostnameGenerator", "names"), outside(api.KindMesh, "default"), outside(api.KindMesh, "other"))
	var got []string
	for _, s := range o.Objects {
		if s.Ref.Mesh == "" {
			got = append(got, s.Ref.Kind+"/"+s.Ref.Name)
		}
	}
	slices.Sort(got)
	if text := strings.Join(got, " "); text != "HostnameGenerator/names Mesh/default" || len(o.Objects) != before+2 {
		t.Errorf("%q of %d objects", text, len(o.Objects))
	}
}
