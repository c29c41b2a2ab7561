package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/weftmesh/weft/sidecar/inject"
)

// corpus: every pod of the cases of package inject gets from the API server what inject says:
// the containers, or a refusal that names the hook.
func (a *admitted) corpus(t *testing.T) {
	files, err := filepath.Glob("../sidecar/inject/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	asked, injected, refused := 0, 0, 0
	for i, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ns := inject.Namespace{Name: fmt.Sprintf("corpus-%d", i), Labels: map[string]string{inject.LabelInjection: "enabled"}}
		pods, values := documentsOf(t, archive, &ns)
		if values || len(pods) == 0 {
			continue // other values than those that are served
		}
		if status, got := a.Send(t, http.MethodPost, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": ns.Name, "labels": ns.Labels, "annotations": ns.Annotations}}); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", file, status, got["message"])
		}
		for n, pod := range pods {
			asked++
			pod.Name, pod.Namespace, pod.OwnerReferences = fmt.Sprintf("p-%d", n), ns.Name, nil
			pod.APIVersion, pod.Kind = "v1", "Pod"
			if pod.Spec.ServiceAccountName == "" {
				pod.Spec.ServiceAccountName = "default"
			}
			if pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
				pod.Spec.NodeName = "node" // as its kubelet writes it
			}
			c := inject.Default("dev")
			c.Meshes = []string{"default"}
			want, _, wrong := inject.Inject(pod, ns, c)
			status, got := a.Send(t, http.MethodPost, "/api/v1/namespaces/"+ns.Name+"/pods", pod)
			message := fmt.Sprint(got["message"])
			switch {
			case inject.Hook(pod, ns, c) == "": // nobody is asked
				want, wrong = pod, nil
			case wrong != nil:
				refused++
			case len(want.Spec.InitContainers) > len(pod.Spec.InitContainers):
				injected++
			}
			if wrong != nil && (status != http.StatusUnprocessableEntity || !strings.Contains(message, "injector.weft.io")) {
				t.Errorf("%s, pod %d: refused by inject, answered %d %s", file, n, status, message)
			}
			if wrong == nil && status != http.StatusCreated && !strings.Contains(message, "PodSecurity") {
				t.Errorf("%s, pod %d: %d %s", file, n, status, message)
			}
			if wrong == nil && status == http.StatusCreated && fmt.Sprint(containers(got, "initContainers"), containers(got, "containers")) != fmt.Sprint(named(want.Spec.InitContainers), named(want.Spec.Containers)) {
				t.Errorf("%s, pod %d: %v %v", file, n, containers(got, "initContainers"), containers(got, "containers"))
			}
		}
	}
	if asked < 25 || injected < 15 || refused < 5 {
		t.Errorf("%d pods, %d injected, %d refused: is the corpus gone?", asked, injected, refused)
	}
	t.Logf("%d pods, %d injected, %d refused", asked, injected, refused)
}

func named(list []corev1.Container) (out []string) {
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

// documentsOf are the pods of a case, and those of what makes pods, in one namespace with the
// labels and annotations of the first; values says that the case has its own.
func documentsOf(t *testing.T, archive *txtar.Archive, ns *inject.Namespace) (pods []*corev1.Pod, values bool) {
	t.Helper()
	for _, f := range archive.Files {
		values = values || f.Name == "values.yaml"
		if f.Name != "documents.yaml" {
			continue
		}
		for _, text := range bytes.Split(f.Data, []byte("\n---\n")) {
			text, err := yaml.ToJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			var o map[string]any
			if json.Unmarshal(text, &o) != nil {
				continue
			}
			if o["kind"] == "Namespace" {
				var n corev1.Namespace
				if err := json.Unmarshal(text, &n); err != nil {
					t.Fatal(err)
				}
				ns.Labels, ns.Annotations = n.Labels, n.Annotations
				continue
			}
			template := any(o)
			for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
				if found := at(o, path...); found != nil {
					template = found
				}
			}
			raw, _ := json.Marshal(template)
			pod := new(corev1.Pod)
			if err := json.Unmarshal(raw, pod); err == nil && len(pod.Spec.Containers) > 0 {
				pods = append(pods, pod)
			}
		}
	}
	return pods, values
}
