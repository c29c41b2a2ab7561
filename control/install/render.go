package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/weftmesh/weft/deploy"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Release is where and as what an installation stands.
type Release struct {
	Namespace string // of the control plane
	Version   string // of weft
	Service   string // who installs: weft, Helm
}

// Manifest is one template of the chart, rendered: documents of YAML.
type Manifest struct {
	Name string // deployment.yaml
	Text []byte
}

// Render are the manifests of values, in the order of their names, without those that
// the values leave empty. They are those that Helm renders for the chart in deploy/chart.
func Render(r Release, v UserValues) ([]Manifest, error) {
	root := template.New("chart").Option("missingkey=error")
	root.Funcs(functions(root))
	const dir = "chart/templates"
	files, err := fs.ReadDir(deploy.Templates, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := fs.ReadFile(deploy.Templates, path.Join(dir, f.Name()))
		if err == nil {
			_, err = root.New(f.Name()).Parse(string(text))
		}
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", f.Name(), err)
		}
	}
	data := map[string]any{
		"Values":  v.all,
		"Release": map[string]any{"Name": "weft", "Namespace": r.Namespace, "Service": r.Service},
		"Chart":   map[string]any{"Name": "weft", "Version": inject.Tag(r.Version), "AppVersion": inject.Tag(r.Version)},
	}
	var out []Manifest
	for _, f := range files {
		var text bytes.Buffer
		if !strings.HasSuffix(f.Name(), ".yaml") {
			continue
		}
		if err := root.ExecuteTemplate(&text, f.Name(), data); err != nil {
			return nil, fmt.Errorf("template %s: %w", f.Name(), err)
		}
		if trimmed := bytes.TrimSpace(text.Bytes()); len(trimmed) > 0 {
			out = append(out, Manifest{f.Name(), append(trimmed, '\n')})
		}
	}
	return out, nil
}

// Namespace is the object of the control plane's namespace: its pods pass the strictest
// level of PodSecurity, and no other pod may run there that does not.
func Namespace(name string) any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]any{
			"app.kubernetes.io/name": "weft", "app.kubernetes.io/part-of": "weft",
			"pod-security.kubernetes.io/enforce": "restricted",
		}},
	}
}
