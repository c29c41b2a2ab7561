package writing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/gateway"
	"github.com/weftmesh/weft/store"
)

// Owner is the Service or Pod that an object follows from.
type Owner struct{ Kind, Name, UID string }

func (o Owner) references() []any {
	return []any{map[string]any{"apiVersion": "v1", "kind": o.Kind, "name": o.Name, "uid": o.UID, "controller": true}}
}

// CreateOwned is Create of what follows from another object.
func (w *Writer) CreateOwned(ctx context.Context, o *api.Object, owner Owner) error {
	return w.create(ctx, o, func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(u.Object, owner.references(), "metadata", "ownerReferences") // metadata is a map
	})
}

// ReplaceOwned makes an object of that version what it should be: its labels, its spec and
// whose it is.
func (w *Writer) ReplaceOwned(ctx context.Context, o *api.Object, owner Owner, version string) error {
	client, err := w.of(o.Ref)
	if err != nil {
		return err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]operation{
		{"replace", "/metadata/resourceVersion", version}, // the API server refuses another than that
		{"add", "/metadata/labels", o.Labels}, {"add", "/metadata/ownerReferences", owner.references()}, {"add", "/spec", o.Spec},
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", o.Ref, err)
	}
	_, err = client.Patch(ctx, o.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: objectManager})
	return named("write", o.Ref, err)
}

// Delete deletes an object of that version.
func (w *Writer) Delete(ctx context.Context, ref api.Ref, version string) error {
	client, err := w.of(ref)
	if err != nil {
		return err
	}
	return named("delete", ref, client.Delete(ctx, ref.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}))
}

var events = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}

// Warn is WarnAbout an object of Kubernetes itself.
func (w *Writer) Warn(ctx context.Context, ref api.Ref, uid, reason, note string) error {
	return w.WarnAbout(ctx, About{"v1", ref.Kind, ref.Namespace, ref.Name, uid}, reason, note)
}

// About is an object that an event is about, of whatever kind.
type About struct{ APIVersion, Kind, Namespace, Name, UID string }

// longestNote is how long the API server lets an event be; longestName is that of its object.
const (
	longestNote = 1024
	longestName = 200
)

// WarnAbout is an event at an object. One that is there already, for the same object and
// reason, is enough: the API server keeps events for an hour, unless it is told otherwise.
// That at a namespace stands in it, where its users see it.
func (w *Writer) WarnAbout(ctx context.Context, about About, reason, note string) error {
	if about.Kind == api.KindNamespace {
		about.Namespace = about.Name
	}
	sum := sha256.Sum256([]byte(about.UID + "/" + reason))
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Warning", "reason": reason, "action": "Write", "note": strings.ToValidUTF8(note[:min(len(note), longestNote)], ""),
		"metadata":            map[string]any{"name": strings.TrimRight(about.Name[:min(len(about.Name), longestName)], ".-") + "." + hex.EncodeToString(sum[:6]), "namespace": about.Namespace},
		"eventTime":           time.Now().UTC().Format(metav1.RFC3339Micro),
		"reportingController": gateway.Controller, "reportingInstance": objectManager,
		"regarding": map[string]any{"apiVersion": about.APIVersion, "kind": about.Kind, "namespace": about.Namespace, "name": about.Name, "uid": about.UID},
	}}
	_, err := w.client.Resource(events).Namespace(about.Namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: objectManager})
	if err = named("write an event at", api.Ref{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}, err); errors.Is(err, store.ErrExists) {
		return nil
	}
	return err
}
