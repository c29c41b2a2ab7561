package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// Lists and texts of custom resources are bounded as in a cluster; those of kinds that
// bound neither are not.
func TestBoundsAreThoseOfACluster(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return strings.Repeat("{address: a.example.org, port: 80}, ", n) }
	for _, c := range []struct{ name, text, want string }{
		{"items", "type: MeshExternalService\nname: a\nspec: {match: {port: 80}, endpoints: [" + many(256) + "]}", ""},
		{"too many items", "type: MeshExternalService\nname: a\nspec: {match: {port: 80}, endpoints: [" + many(257) + "]}",
			"3:38: spec.endpoints: the list has 257 items; at most 256 are allowed"},
		{"characters", "type: HostnameGenerator\nname: a\nspec: {selector: {meshService: {}}, template: " + strings.Repeat("ä", 1024) + "}", ""},
		{"too many characters", "type: HostnameGenerator\nname: a\nspec: {selector: {meshService: {}}, template: " + strings.Repeat("ä", 1025) + "}",
			"3:47: spec.template: the text has 1025 characters; at most 1024 are allowed"},
		{"a bound of the field", fmt.Sprintf("type: MeshExternalService\nname: a\nspec: {match: {port: 80}, endpoints: [%s], tls: {verification: {caCert: {inlineString: %q}}}}",
			many(1), strings.Repeat("a", 5000)), ""},
		{"a kind without bounds", "type: Dataplane\nname: a\nnetworking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}], transparentProxying: {reachableServices: [" + strings.Repeat("a, ", 300) + "]}}", ""},
		{"the mesh beside the spec", "apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: other\nmetadata: {name: a}\nspec: {networking: {address: 127.0.0.1, inbound: [{port: 80}]}}", ""},
		{"the mesh as the label has it", "apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: other\nmetadata: {name: a, labels: {kuma.io/mesh: other}}\nspec: {networking: {address: 127.0.0.1, inbound: [{port: 80}]}}", ""},
		{"another mesh than the label's", "apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: other\nmetadata: {name: a, labels: {kuma.io/mesh: default}}\nspec: {networking: {address: 127.0.0.1, inbound: [{port: 80}]}}",
			`3:7: mesh: "other" contradicts the label kuma.io/mesh, which is "default"; make them equal, or remove one`},
		{"the mesh of a MeshGateway", "apiVersion: kuma.io/v1alpha1\nkind: MeshGateway\nmesh: other\nmetadata: {name: a}\nspec: {selectors: [], conf: {listeners: []}}", ""},
		{"the mesh of a policy", "apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmesh: other\nmetadata: {name: a}\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}",
			"3:7: mesh: unknown field; a MeshRetry names its mesh by the label kuma.io/mesh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects, err := decode.Objects(world.Catalog(), "", []byte(c.text))
			var found []string
			for _, v := range api.Violations(err) {
				if v.Severity == api.Error {
					found = append(found, v.Error())
				}
			}
			if got := strings.Join(found, "\n"); got != c.want {
				t.Errorf("found %s", got)
			}
			if c.want == "" && strings.Contains(c.text, "mesh: other") && (len(objects) != 1 || objects[0].Mesh != "other") {
				t.Errorf("%v is in another mesh", objects)
			}
		})
	}
}

// TestWhereReadingEnds: of very many mistakes the last line says where it was that nothing more was read,
// and how many documents come after that.
func TestWhereReadingEnds(t *testing.T) {
	t.Parallel()
	const documents = 1200
	_, _, err := decode.Within(decode.Bounds{Mistakes: 1000}, world.Catalog(), decode.Text{File: "many.yaml", Text: []byte(strings.Repeat("type: MeshRetry\nname: a\nwrong: 1\n---\n", documents))})
	for _, v := range api.Violations(err) {
		if v.Code == "Cut" && strings.Contains(v.Message, "was not read") {
			left := 0
			if _, err := fmt.Sscanf(v.Message[strings.Index(v.Message, "about "):], "about %d more", &left); err != nil {
				t.Fatalf("%s: %v", v.Message, err)
			}
			if read := documents - left; read == 0 || v.Position.Line != 4*read+1 {
				t.Errorf("%s: nothing is read from line %d on", v.Message, v.Position.Line)
			}
			return
		}
	}
	t.Error("nothing says that not all is read")
}
