package writing

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// Put creates an object, or makes the one of its version say the same, where it has one; and
// tells the version that it has then. Of one that is there all else stays that others have added,
// labels too. It is store.ErrExists, store.ErrChanged or store.ErrGone where somebody else was faster.
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
	labels := u.GetLabels()
	ops := []op{
		{"replace", "/metadata/resourceVersion", o.ResourceVersion}, // the API server refuses another than that
		{"add", "/" + body, u.Object[body]},
	}
	patch := func(ops []op) (*unstructured.Unstructured, error) {
		text, err := json.Marshal(ops)
		if err != nil {
			return nil, err
		}
		return client.Patch(ctx, o.Name, types.JSONPatchType, text, metav1.PatchOptions{FieldManager: objectManager})
	}
	now, err := patch(append(slices.Clone(ops), each(labels)...))
	if apierrors.IsInvalid(err) && len(labels) > 0 { // maybe it has no label to which one is added
		now, err = patch(append(ops, op{"test", "/metadata/labels", nil}, op{"add", "/metadata/labels", labels}))
	}
	return versionOf(now), named("write", o.Ref, err)
}

// op is one of JSON Patch (RFC 6902).
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// each adds labels to others.
func each(labels map[string]string) (ops []op) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		ops = append(ops, op{"add", "/metadata/labels/" + pointer.Replace(name), labels[name]})
	}
	return ops
}

// pointer writes a name as one step of a JSON pointer (RFC 6901 3).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

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
