package corpus

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
)

// Document is one of the repository's, sound or not, as Kubernetes has it.
type Document struct {
	Place string // the file and the part of it
	Type  api.Type
	JSON  map[string]any
}

// Documents are those of all testdata and examples below a folder of which the
// catalogue knows the type and Kubernetes the definition. Documents in Kuma's envelope
// are put into that of Kubernetes; their bodies are as they were written.
func Documents(t testing.TB, c *api.Catalog, root string) []Document {
	t.Helper()
	var out []Document
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != root {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		switch filepath.Ext(path) {
		case ".txtar":
			for _, f := range txtar.Parse(text).Files {
				out = append(out, Read(c, path+"/"+f.Name, f.Data)...)
			}
		case ".yaml", ".yml":
			out = append(out, Read(c, path, text)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Read are the documents of a text, as those of Documents, up to the first that is no YAML.
func Read(c *api.Catalog, place string, text []byte) []Document {
	var out []Document
	for d := yaml.NewDecoder(strings.NewReader(string(text))); ; {
		var doc map[string]any
		if d.Decode(&doc) != nil {
			return out
		}
		plain, err := json.Marshal(doc)
		if err != nil || utiljson.Unmarshal(plain, &doc) != nil {
			continue
		}
		if typ, kube := inKubernetes(c, doc); kube != nil {
			out = append(out, Document{place, typ, kube})
		}
	}
}

// inKubernetes is a document in the envelope of Kubernetes; nil where it is of no type
// that is defined.
func inKubernetes(c *api.Catalog, doc map[string]any) (api.Type, map[string]any) {
	kind, kube := doc["kind"].(string)
	if !kube {
		kind, _ = doc["type"].(string)
	}
	typ, ok := c.Type(kind)
	switch {
	case !ok || typ.Custom == nil:
		return typ, nil
	case kube:
		return typ, doc
	}
	meta := map[string]any{}
	if !typ.Global { // what has no namespace in Kuma's envelope is of the mesh's operators
		meta["namespace"] = api.DefaultSystemNamespaces[0]
	}
	labels, _ := doc["labels"].(map[string]any)
	if mesh, ok := doc["mesh"].(string); ok {
		if labels == nil {
			labels = map[string]any{}
		}
		labels[api.LabelMesh] = mesh
	}
	if labels != nil {
		meta["labels"] = labels
	}
	for _, key := range []string{"name", "namespace"} {
		if v, ok := doc[key]; ok {
			meta[key] = v
		}
	}
	out := map[string]any{"apiVersion": typ.APIVersion(), "kind": kind, "metadata": meta}
	for _, key := range []string{"type", "mesh", "name", "namespace", "labels", "creationTime", "modificationTime", "kri"} {
		delete(doc, key)
	}
	if typ.Flat {
		out["spec"] = doc
		return typ, out
	}
	for key, v := range doc { // spec and status, and what is wrong beside them
		out[key] = v
	}
	return typ, out
}
