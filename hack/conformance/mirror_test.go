package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weftmesh/weft/control/status"
)

// kind is a kind of document that weft reads.
type kind struct {
	schema.GroupVersionKind
	plural string
	status bool // weft writes its status
}

const gatewayGroup = "gateway.networking.k8s.io"

var kinds = []kind{
	{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "namespaces", false},
	{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", false},
	{schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, "endpointslices", false},
	{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "secrets", false},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "ReferenceGrant"}, "referencegrants", false},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "GatewayClass"}, "gatewayclasses", true},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "Gateway"}, "gateways", true},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "HTTPRoute"}, "httproutes", true},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "GRPCRoute"}, "grpcroutes", true},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "TLSRoute"}, "tlsroutes", true},
	{schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: "TCPRoute"}, "tcproutes", true},
}

// mirrored is a document that weft has.
type mirrored struct {
	kind    kind
	object  *unstructured.Unstructured
	version string // of the object when it was carried, as the API server counts
}

func (m *mirrored) path() string {
	path := "/k8s/" + m.kind.Group + "/" + m.kind.Version
	if m.object.GetNamespace() != "" {
		path += "/namespaces/" + m.object.GetNamespace()
	}
	return path + "/" + m.kind.plural + "/" + m.object.GetName()
}

// carry brings what changed to weft.
func (c *cluster) carry(ctx context.Context) error {
	there := map[string]bool{}
	for _, k := range kinds {
		list := unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind + "List"})
		if err := c.c.List(ctx, &list); err != nil {
			return err
		}
		for i := range list.Items {
			o := &list.Items[i]
			key := k.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
			if !concerns(k, o) {
				continue
			}
			there[key] = true
			if m := c.seen[key]; m != nil && m.version == versionOf(o) {
				m.object = o
				continue
			}
			document := o.DeepCopy()
			document.SetManagedFields(nil)
			unstructured.RemoveNestedField(document.Object, "status")
			if err := c.plane.apply(ctx, document.Object); err != nil {
				c.t.Logf("weft does not take %s: %v", key, err)
			}
			c.seen[key] = &mirrored{kind: k, object: o, version: versionOf(o)}
		}
	}
	for key, m := range c.seen {
		if there[key] {
			continue
		}
		if err := c.forget(ctx, m); err != nil {
			c.t.Logf("weft does not forget %s: %v", key, err) // it has not taken it
		}
		delete(c.seen, key)
	}
	return nil
}

// forget deletes a document that the cluster no longer has.
func (c *cluster) forget(ctx context.Context, m *mirrored) error {
	path := m.path()
	if m.kind.Group != gatewayGroup {
		path = "/meshes/default/" + m.kind.plural + "/" + m.object.GetName()
		if m.object.GetNamespace() != "" {
			path += "." + m.object.GetNamespace()
		}
	}
	_, err := c.plane.ask(ctx, http.MethodDelete, path, nil)
	return err
}

// versionOf changes when weft has to read the object anew: not with its status.
func versionOf(o *unstructured.Unstructured) string {
	if o.GetGeneration() > 0 {
		return fmt.Sprint(o.GetUID(), o.GetGeneration(), o.GetLabels())
	}
	return fmt.Sprint(o.GetUID(), o.GetResourceVersion())
}

// concerns leaves out what weft would not read in a cluster.
func concerns(k kind, o *unstructured.Unstructured) bool {
	switch {
	case strings.HasPrefix(o.GetNamespace(), "kube-"):
		return false
	case k.Kind == "Secret":
		kind, _, _ := unstructured.NestedString(o.Object, "type")
		return kind == string(corev1.SecretTypeTLS)
	}
	return true
}

// report writes what weft says of an object to its status.
func (c *cluster) report(ctx context.Context) error {
	for _, m := range c.seen {
		if !m.kind.status {
			continue
		}
		text, err := c.plane.ask(ctx, http.MethodGet, m.path(), nil)
		if err != nil {
			continue // it was refused
		}
		var said struct {
			Status map[string]any `json:"status"`
		}
		if err := json.Unmarshal(text, &said); err != nil {
			return err
		}
		have, _, _ := unstructured.NestedMap(m.object.Object, "status")
		if said.Status == nil {
			continue
		}
		had, _ := numbers(have).(map[string]any)
		status.Stamp(said.Status, had, m.object.GetGeneration(), time.Now())
		if reflect.DeepEqual(said.Status, had) {
			continue
		}
		o := m.object.DeepCopy()
		o.Object["status"] = said.Status
		if err := c.c.Status().Update(ctx, o); err != nil && !apierrors.IsConflict(err) && client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("status of %s: %w\n%s", m.path(), err, text)
		}
	}
	return nil
}

// numbers makes values comparable that came by different decoders.
func numbers(v map[string]any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	return out
}
