package kubetest

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Document is a document in YAML as Send takes it.
func Document(t testing.TB, text string) map[string]any {
	t.Helper()
	var v map[string]any
	raw, err := yaml.ToJSON([]byte("---\n" + text)) // what begins with a brace would be taken for JSON
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
