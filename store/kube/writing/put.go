package writing

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// Put creates an object, or makes the one of its version say the same, where it has one; and
// tells the version that it has then. Of one that is there its labels and all that others have
// added stay. It is ErrExists, ErrChanged or ErrGone where somebody else was faster.
func (w *Writer) Put(ctx context.Context, o *api.Object) (version string, err error) {
	client, err := w.of(o.Ref)
	if err != nil {
		return "", err
	}
	u, body, err := w.document(o)
	if err != nil {
		return "", err
	}
	if o.ResourceVersion == "" {
		u, err = client.Create(ctx, u, metav1.CreateOptions{FieldManager: objectManager})
		return versionOf(u), named("create", o.Ref, err)
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.ResourceVersion}, // the API server refuses another than that
		{"op": "add", "path": "/" + body, "value": u.Object[body]},
	})
	if err != nil {
		return "", fmt.Errorf("write %s: %w", o.Ref, err)
	}
	u, err = client.Patch(ctx, o.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: objectManager})
	return versionOf(u), named("write", o.Ref, err)
}

func versionOf(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	return u.GetResourceVersion()
}

// document is an object as the API server takes it, and the field that holds what it says.
func (w *Writer) document(o *api.Object) (u *unstructured.Unstructured, body string, err error) {
	text, err := decode.PrintKubernetes(w.catalog, o)
	if err != nil {
		return nil, "", err
	}
	u = &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		return nil, "", fmt.Errorf("write %s: %w", o.Ref, err)
	}
	s, ok := o.Spec.(*api.Secret)
	if !ok {
		return u, "spec", nil
	}
	data := map[string]any{} // what is printed are sums
	for name, m := range s.Data {
		plain, here := m.Bytes()
		if !here {
			return nil, "", fmt.Errorf("write %s: the value %s is not there to be stored", o.Ref, name)
		}
		data[name] = base64.StdEncoding.EncodeToString(plain)
	}
	u.Object["data"] = data
	return u, "data", nil
}

// Versions are the versions of the Secrets of a namespace that are of a type, by name, as the API
// server has them now.
func (w *Writer) Versions(ctx context.Context, namespace, typ string) (map[string]string, error) {
	list, err := w.client.Resource(secrets).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=" + typ})
	if err != nil {
		return nil, fmt.Errorf("list the Secrets of namespace %s: %w", namespace, err)
	}
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
	}
	return out, nil
}
