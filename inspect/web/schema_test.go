package web_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// The schema of a policy says what a field is for, its default, and for what it
// may be set.
func TestSchemasExplainFields(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	_, text := call(t, http.MethodGet, server.URL+"/_schemas/MeshTimeout.json", "")
	for _, want := range []string{`"x-weft-scope":"cluster"`, `"default":"5s"`, `"description":`} {
		if !strings.Contains(strings.ReplaceAll(text, ": ", ":"), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

// What is accepted of the documents of the repository, its schema accepts: examples, the
// stories of all tests, the cases of the languages. What is refused for its form alone, a
// schema refuses.
func TestSchemasJudgeAsTheDecoder(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	schemas := map[string]*jsonschema.Schema{}
	for _, typ := range world.Catalog().Types() {
		_, text := call(t, http.MethodGet, server.URL+"/_schemas/"+typ.Name+".json", "")
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(typ.Name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("weft:"+typ.Name, doc); err != nil {
			t.Fatal(typ.Name, err)
		}
		schemas[typ.Name] = c.MustCompile("weft:" + typ.Name)
	}
	accepted, refused := map[string]int{}, map[string]int{}
	for _, d := range documentsBelow(t, "../..") {
		typ, s := d.kind(), schemas[d.kind()]
		if s == nil {
			continue
		}
		_, err := decode.Objects(world.Catalog(), "", d.text)
		value, wrong := jsonschema.UnmarshalJSON(bytes.NewReader(d.text))
		if wrong != nil {
			t.Fatal(wrong)
		}
		said := s.Validate(withoutNulls(value))
		switch form := worst(api.Violations(err)); {
		case form == "" && err == nil:
			accepted[typ]++
			if said != nil {
				t.Errorf("%s: a sound document is refused: %v\n%s", d.place, said, d.text)
			}
		case said != nil:
			refused[form]++
		case form == "UnknownField":
			t.Errorf("%s: its schema knows a field that the decoder does not: %s", d.place, d.text)
		}
	}
	for _, kind := range []string{"Dataplane", "HTTPProxy", "HTTPRoute", "Mesh", "MeshHTTPRoute", "MeshRateLimit", "MeshRetry", "MeshTimeout", "RouteGroup", "Service", "Pod"} {
		if accepted[kind] < 20 {
			t.Errorf("only %d sound documents are %s: is the corpus gone?", accepted[kind], kind)
		}
	}
	if refused["UnknownField"] < 5 || refused["Invalid"] < 100 {
		t.Errorf("schemas refuse only %v", refused)
	}
}

// withoutNulls is a value without members that are null, which the decoder takes for absent.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k, x := range v {
			if v[k] = withoutNulls(x); x == nil {
				delete(v, k)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = withoutNulls(x)
		}
	}
	return value
}

// worst is the code of the first error.
func worst(found []*api.Violation) string {
	for _, v := range found {
		if v.Severity == api.Error {
			return v.Code
		}
	}
	return ""
}

// document is one of the repository, as JSON.
type document struct {
	place string
	text  []byte
}

func (d document) kind() string {
	var head struct{ Type, Kind string }
	_ = json.Unmarshal(d.text, &head) // of a document without one it is none
	return cmp.Or(head.Kind, head.Type)
}

// documentsBelow are those of all texts of examples and testdata below a folder.
func documentsBelow(t *testing.T, root string) (out []document) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != root || e.Name() == "node_modules") {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		switch filepath.Ext(path) {
		case ".txtar":
			for _, f := range txtar.Parse(text).Files {
				out = append(out, documentsOf(path+"/"+f.Name, f.Data)...)
			}
		case ".yaml", ".yml":
			out = append(out, documentsOf(path, text)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documentsOf are those of a text, up to the first that is no YAML.
func documentsOf(place string, text []byte) (out []document) {
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for i := 0; ; i++ {
		part, err := r.Read()
		if err != nil {
			return out
		}
		if text, err := yaml.YAMLToJSONStrict(part); err == nil {
			out = append(out, document{fmt.Sprintf("%s[%d]", place, i), text})
		}
	}
}
