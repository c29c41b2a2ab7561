package decode_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// A document that leaves its mesh out is in mesh default; one whose mesh has no
// name is a mistake, such as an empty variable of a template.
func TestAMeshHasAName(t *testing.T) {
	t.Parallel()
	const spec = "\nspec: {ports: [{port: 80}]}\n"
	const universal, kubernetes = "type: MeshService\nname: web\n", "apiVersion: kuma.io/v1alpha1\nkind: MeshService\nmetadata:\n  name: web\n"
	for text, want := range map[string]string{
		universal + `mesh: ""` + spec:                        `f:3:7: mesh: is empty; name the mesh, or leave it out`,
		universal + `labels: {kuma.io/mesh: ""}` + spec:      `f:3:24: labels["kuma.io/mesh"]: is empty; name the mesh, or leave it out`,
		kubernetes + `  labels: {kuma.io/mesh: ""}` + spec:   `f:5:26: metadata.labels["kuma.io/mesh"]: is empty; name the mesh, or leave it out`,
		universal + `mesh: [default]` + spec:                 `f:3:7: mesh: a list stands where a single value belongs; write text`,
		universal + `mesh:` + spec:                           "",
		universal + `labels: {kuma.io/mesh: default}` + spec: "",
		"type: Mesh\nname: m\nmesh: \"\"\n":                  "",
	} {
		objects, err := decode.Objects(catalog, "f", []byte(text))
		var got []string
		for _, v := range api.Violations(err) {
			if v.Severity == api.Error {
				got = append(got, v.Error())
			}
		}
		if s := strings.Join(got, "|"); s != want || (len(objects) == 0) != (want != "") {
			t.Errorf("%q:\n got %s\nwant %s", text, s, want)
		}
	}
}
