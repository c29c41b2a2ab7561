package roots

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// data is what a Secret holds; what is not in base64 is left out.
func data(secret *unstructured.Unstructured) map[string][]byte {
	texts, _, _ := unstructured.NestedMap(secret.Object, "data")
	out := map[string][]byte{}
	for name, v := range texts {
		text, _ := v.(string)
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			out[name] = b
		}
	}
	return out
}

// write makes a Secret hold values, beside what else it holds.
func write(secret *unstructured.Unstructured, values map[string][]byte) {
	for name, v := range values {
		_ = unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString(v), "data", name) // its data is a map
	}
}
