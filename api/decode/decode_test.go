package decode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/internal/corpus"
)

var catalog = api.NewCatalog(api.Types()...)

// Every text of the corpus gives the lines that stand under it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus.Check(t, catalog, "testdata/*.txtar")
}

func TestNothingToRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n", "---\n", "# only\n---\n# comments\n...\n", "\ufeff", "%YAML 1.2\n---\n", "[]", "null"} {
		objects, err := decode.Objects(catalog, "f", []byte(text))
		if !errors.Is(err, syntax.ErrNoDocuments) || objects != nil {
			t.Errorf("%q: got %v, %v", text, objects, err)
		}
	}
}

// A document that is read at an address must be the object of that address.
func TestDecodeOne(t *testing.T) {
	t.Parallel()
	want := api.Ref{Kind: "MeshService", Mesh: "m2", Name: "web"}
	spec := "spec: {selector: {dataplaneTags: {a: b}}, ports: [{port: 80}]}\n"
	for text, lines := range map[string]string{
		"type: MeshService\nmesh: m2\nname: web\n" + spec: "",
		"type: MeshService\n" + spec:                      "",
		"type: MeshService\nname: wbe\n" + spec:           `f:2:7: name: the name is "wbe" but the address says "web"; make them equal`,
		"type: MeshService\nmesh: m1\n" + spec:            `f:2:7: mesh: the mesh is "m1" but the address says "m2"; make them equal`,
		"type: Mesh\nname: web\n":                         `f:1:7: type: the type is "Mesh" but the address says "MeshService"; make them equal|f:1:1: mesh: the mesh is "" but the address says "m2"; make them equal`,
		"type: Mesh\nname: a\n---\ntype: Mesh\nname: b\n": `f:4:1: there is more than one document; send them one by one`,
	} {
		o, err := decode.One(catalog, "f", []byte(text), want)
		var got []string
		for _, v := range api.Violations(err) {
			got = append(got, v.Error())
		}
		if s := strings.Join(got, "|"); s != lines || (o == nil) != (lines != "") {
			t.Errorf("%q:\n got %s\nwant %s", text, s, lines)
		}
		if o != nil && o.Ref != want {
			t.Errorf("%q: read as %s", text, o.Ref)
		}
	}
}

// One object may be written in either envelope, as YAML or JSON, alone, in a
// stream, in an array or in a List.
func TestSpellingsOfOneObject(t *testing.T) {
	t.Parallel()
	var first *api.Object
	for i, text := range []string{
		"type: MeshService\nmesh: default\nname: web\nlabels: {a: b, kuma.io/mesh: default}\nnamespace: ns\nspec:\n  selector: {dataplaneLabels: {matchLabels: {app: web}}}\n  ports:\n  - port: 80\n    targetPort: http\n",
		"apiVersion: kuma.io/v1alpha1\nkind: MeshService\nmetadata:\n  name: web\n  namespace: ns\n  labels: {a: b, kuma.io/mesh: default}\n  annotations: {x: y}\nspec:\n  selector: {dataplaneLabels: {matchLabels: {app: web}}}\n  ports: [{port: 80, targetPort: http}]\n",
		`{"type": "MeshService", "mesh": "default", "name": "web", "labels": {"a": "\u0062", "kuma.io/mesh": "default"}, "namespace": "ns", "kri": "x", "spec": {"selector": {"dataplaneLabels": {"matchLabels": {"app": "web"}}}, "ports": [{"port": 80, "targetPort": "http"}]}}`,
		`[{"type": "MeshService", "name": "web", "labels": {"a": "b", "kuma.io/mesh": "default"}, "namespace": "ns", "spec": {"selector": {"dataplaneLabels": {"matchLabels": {"app": "web"}}}, "ports": [{"port": 80, "targetPort": "http"}]}}]`,
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kuma.io/v1alpha1\n  kind: MeshService\n  metadata: {name: web, namespace: ns, labels: {a: b, kuma.io/mesh: default}}\n  spec:\n    selector: {dataplaneLabels: {matchLabels: {app: web}}}\n    ports: [{port: 80, targetPort: http}]\n",
		"---\r\n{type: MeshService, name: web, labels: {a: b, kuma.io/mesh: default}, namespace: ns,\r\n spec: &s {<<: {ports: [{port: 80, targetPort: http}]}, selector: {dataplaneLabels: {matchLabels: {app: web}}}}}\r\n",
	} {
		objects, err := decode.Objects(catalog, "f", []byte(text))
		if err != nil || len(objects) != 1 {
			t.Errorf("text %d: %v", i, err)
			continue
		}
		if first == nil {
			first = objects[0]
		}
		if diff := cmp.Diff(first, objects[0], ignoreSource); diff != "" {
			t.Errorf("text %d: %s", i, diff)
		}
	}
}

// An object remembers where each of its fields was written.
func TestLocate(t *testing.T) {
	t.Parallel()
	text := "# first\n---\n\ntype: MeshService\nname: web\nspec:\n  ports:\n  - port: 80\n  - {port: 81,\n     name: b}\n  selector: {dataplaneTags: {a/b.c: d}}\n"
	array := "[\n  {\"type\": \"Mesh\", \"name\": \"a\"},\n  {\"type\": \"Mesh\",\n   \"name\": \"b\"}]\n"
	for _, c := range []struct {
		text, path, want string
		object           int
	}{
		{text, "spec.ports[0].port", "f:8:11", 0},
		{text, "spec.ports", "f:7:3", 0},
		{text, "spec.ports[1].name", "f:10:12", 0},
		{text, "spec.ports[7].name", "f:7:3", 0},
		{text, `spec.selector.dataplaneTags["a/b.c"]`, "f:11:37", 0},
		{text, "spec.absent.deep", "f:6:1", 0},
		{text, "", "f:4:1", 0},
		{array, "name", "f:2:28", 0},
		{array, "name", "f:4:12", 1},
	} {
		objects, err := decode.Objects(catalog, "f", []byte(c.text))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		if got := syntax.Locate(objects[c.object].Source, api.Path(c.path)).String(); got != c.want {
			t.Errorf("%s of %q: got %s, want %s", c.path, c.text, got, c.want)
		}
	}
}
