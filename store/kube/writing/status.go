package writing

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store/kube"
)

// statusManager has the fields of statuses that weft writes.
const statusManager = "weft-status"

// Status writes the fields of a status that are weft's, of the version of the object that
// they were computed from; those of others stay (spec/kubernetes.md 6.3). store.ErrChanged says
// that the object is of another version by now.
func (w *Writer) Status(ctx context.Context, ref api.Ref, version string, status map[string]any) error {
	return w.apply(ctx, ref, map[string]any{"resourceVersion": version}, map[string]any{"status": status}, "status")
}

// Conditions writes what a status has no place for, as Status does.
func (w *Writer) Conditions(ctx context.Context, ref api.Ref, version, text string) error {
	return w.apply(ctx, ref, map[string]any{"resourceVersion": version, "annotations": map[string]any{kube.ConditionsAnnotation: text}}, nil)
}

func (w *Writer) apply(ctx context.Context, ref api.Ref, metadata, body map[string]any, subresources ...string) error {
	client, err := w.of(ref)
	if err != nil {
		return err
	}
	u := w.head(ref, metadata)
	for k, v := range body {
		u.Object[k] = v
	}
	_, err = client.Apply(ctx, ref.Name, u, metav1.ApplyOptions{FieldManager: statusManager, Force: true}, subresources...)
	return named("write the status of", ref, err)
}

// head is the envelope of an object as the cluster serves its kind.
func (w *Writer) head(ref api.Ref, metadata map[string]any) *unstructured.Unstructured {
	r, _ := w.store.Served(ref.Kind)
	metadata["name"] = ref.Name
	if r.Namespaced {
		metadata["namespace"] = ref.Namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": r.GroupVersion().String(), "kind": ref.Kind, "metadata": metadata}}
}

// ReplaceStatus replaces fields of a status of that version of the object as a whole: of
// those whose lists are atomic, which hold what others have written too. The caller has
// read that with the version.
func (w *Writer) ReplaceStatus(ctx context.Context, ref api.Ref, version string, fields map[string]any) error {
	client, err := w.of(ref)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": fields})
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", ref, err)
	}
	_, err = client.Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: statusManager}, "status")
	return named("write the status of", ref, err)
}
