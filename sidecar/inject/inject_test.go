package inject_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
)

// config is that of the tests: of a version that does not change.
func config() inject.Config {
	c := inject.Default("1.2.3")
	c.CA, c.XDSFallback = "PEM\n", "10.96.0.5"
	return c
}

// TestCases runs the acceptance cases of spec/kubernetes.md 8 that need no cluster. Of
// each file documents.yaml are Pods, workloads and Namespaces, values.yaml the values of
// the chart. Wanted are what is said of each pod (says), its containers in their order
// (containers), the whole output (output), or a part of the first pod (at PATH).
func TestCases(t *testing.T) {
	t.Parallel()
	cases.Files(t, "testdata/*.txtar", func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		s := documents.Settings{Config: config(), Namespace: "default"}
		var texts []decode.Text
		for _, f := range a.Files {
			switch f.Name {
			case "values.yaml":
				var err error
				if s.Config, err = s.Values(f.Name, f.Data); err != nil {
					t.Fatal(err)
				}
			case "documents.yaml":
				texts = append(texts, decode.Text{File: f.Name, Text: f.Data})
			}
		}
		r := documents.Inject(s, texts...)
		again := documents.Inject(s, decode.Text{File: "again", Text: r.Text()})
		if refused(r) {
			if !bytes.Equal(r.Text(), texts[0].Text) && len(r.Workloads) == 1 {
				t.Errorf("refused, and changed:\n%s", r.Text())
			}
		} else if !bytes.Equal(r.Text(), again.Text()) {
			t.Errorf("injecting again changes it:\n%s\n%s", r.Text(), again.Text())
		}
		asked := 0
		for i, f := range a.Files {
			question, ok := strings.CutPrefix(f.Name, "want.")
			if ok {
				asked++
				a.Files[i].Data = []byte(strings.TrimRight(answer(t, r, question), "\n") + "\n")
			}
		}
		if asked == 0 {
			t.Error("the case asks nothing")
		}
		return a
	})
}

func refused(r documents.Result) bool {
	for _, v := range r.All() {
		if v.Severity == api.Error {
			return true
		}
	}
	return false
}

func answer(t *testing.T, r documents.Result, question string) string {
	t.Helper()
	var out strings.Builder
	path, isPath := strings.CutPrefix(question, "at ")
	switch {
	case question == "says":
		for _, v := range r.Violations {
			fmt.Fprintf(&out, "%s %s %s\n", v.Severity, v.Code, v.Error())
		}
		for _, w := range r.Workloads {
			fmt.Fprintf(&out, "%s: %s %s, hook %q\n", w.Ref, w.Decision.Verdict, w.Decision.Code, w.Hook)
			for _, row := range w.Decision.Rows {
				if row.Holds {
					fmt.Fprintf(&out, "  since %s: %s\n", row.Condition, row.Found)
				}
			}
			for _, v := range w.Violations {
				fmt.Fprintf(&out, "  %s %s %s\n", v.Severity, v.Code, v.Error())
			}
		}
	case question == "containers":
		for _, p := range pods(t, r) {
			fmt.Fprintf(&out, "init %v, containers %v\n", names(p.Spec.InitContainers), names(p.Spec.Containers))
		}
	case question == "output":
		out.Write(r.Text())
	case isPath:
		for _, p := range pods(t, r) {
			out.WriteString(part(t, p, path))
		}
	default:
		t.Fatalf("nobody knows what %q is", question)
	}
	return out.String()
}

func names(list []corev1.Container) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

// pods are the Pods, and the pods of templates, of what came out.
func pods(t *testing.T, r documents.Result) []corev1.Pod {
	t.Helper()
	list, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var out []corev1.Pod
	for _, text := range list {
		var d struct {
			corev1.Pod
			Spec struct {
				corev1.PodSpec
				Template    *corev1.PodTemplateSpec
				JobTemplate *struct {
					Spec struct{ Template *corev1.PodTemplateSpec }
				}
			} `json:"spec"`
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		template := d.Spec.Template
		if d.Spec.JobTemplate != nil {
			template = d.Spec.JobTemplate.Spec.Template
		}
		switch {
		case d.Kind == "Pod":
			d.Pod.Spec = d.Spec.PodSpec
			out = append(out, d.Pod)
		case template != nil:
			out = append(out, corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
		}
	}
	return out
}

// part is what stands at a path of names, of which those of lists are names of items.
func part(t *testing.T, p corev1.Pod, path string) string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var at any
	if err := json.Unmarshal(text, &at); err != nil {
		t.Fatal(err)
	}
	for _, step := range strings.Fields(path) {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			at = nil
			for _, item := range v {
				if m, ok := item.(map[string]any); ok && m["name"] == step {
					at = item
				}
			}
		default:
			at = nil
		}
	}
	if at == nil {
		return "nothing\n"
	}
	if text, ok := at.(string); ok {
		return text + "\n"
	}
	out, err := yaml.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
