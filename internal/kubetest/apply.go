package kubetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Documents are those of a stream of YAML, without empty ones.
func Documents(t testing.TB, text []byte) (all []map[string]any) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var v map[string]any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if len(v) > 0 {
			all = append(all, v)
		}
	}
}

// Apply is ApplyWarned where nothing is to be warned of.
func (c *Cluster) Apply(t testing.TB, object map[string]any, query string) map[string]any {
	t.Helper()
	got, warnings := c.ApplyWarned(t, object, query)
	for _, w := range warnings {
		t.Errorf("apply %v: %s", object["kind"], w)
	}
	return got
}

// ApplyWarned is `kubectl apply --server-side`, with a query such as dryRun=All. It waits
// for a kind that is not served yet, and fails where the API server refuses.
func (c *Cluster) ApplyWarned(t testing.TB, object map[string]any, query string) (got map[string]any, warnings []string) {
	t.Helper()
	path := c.Path(t, object)
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	status, got, warnings := c.send(t, http.MethodPatch, path+"?fieldManager=kubectl&force=true&fieldValidation=Strict&"+query, "application/apply-patch+yaml", text)
	if status != http.StatusOK && status != http.StatusCreated {
		t.Fatalf("apply %s: %d %v", path, status, got["message"])
	}
	return got, warnings
}

// Path is where an object stands, by what the API server says of its kind.
func (c *Cluster) Path(t testing.TB, object map[string]any) string {
	t.Helper()
	version, _ := object["apiVersion"].(string)
	meta, _ := object["metadata"].(map[string]any)
	at := "/apis/" + version
	if version == "v1" {
		at = "/api/v1"
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, got := c.Send(t, http.MethodGet, at, nil)
		list, _ := got["resources"].([]any)
		for _, r := range list {
			r := r.(map[string]any)
			if r["kind"] != object["kind"] || bytes.ContainsRune([]byte(r["name"].(string)), '/') {
				continue
			}
			if r["namespaced"] == true {
				at += fmt.Sprintf("/namespaces/%v", meta["namespace"])
			}
			return fmt.Sprintf("%s/%v/%v", at, r["name"], meta["name"])
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v %v is not served", version, object["kind"])
		}
	}
}
