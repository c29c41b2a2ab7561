package kube

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/unsupported"
)

// lastApplied is the annotation in which kubectl repeats the whole document.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// decode makes a document of an object of type typ, by the same code as for files, but that
// fields which weft lacks are warnings where the kind is not weft's own: the API server may
// be of a newer release. What is kept has neither its text nor its managed fields.
func (s *Store) decode(typ api.Type) reader {
	return func(obj any) (*api.Object, []*api.Violation) {
		u := content(obj, typ)
		if u == nil || typ.Secret && !s.readable(u) || made(typ.Name, u) != nil {
			return nil, nil
		}
		modified := lastWrite(u)
		u.SetManagedFields(nil)
		if notes := u.GetAnnotations(); notes[lastApplied] != "" {
			delete(notes, lastApplied)
			u.SetAnnotations(notes)
		}
		ref := api.Ref{Kind: typ.Name, Mesh: u.GetLabels()[api.LabelMesh], Namespace: u.GetNamespace(), Name: u.GetName()}
		if ref.Mesh == "" && !typ.Global {
			ref.Mesh = api.DefaultMesh
		}
		text, err := u.MarshalJSON()
		if err != nil {
			return nil, []*api.Violation{{Object: ref, Code: "Syntax", Severity: api.Error, Message: fmt.Sprintf("the object cannot be read: %v; correct it", err)}}
		}
		objects, err := decode.Objects(s.catalog, "", text)
		wrong := api.Violations(err)
		for _, v := range wrong {
			v.Position = api.Position{} // nobody has seen the text
			if v.Object.Name == "" {
				v.Object = ref
			}
		}
		if len(objects) != 1 {
			return nil, wrong
		}
		o := *objects[0]
		o.Source = api.Source{}
		o.Created, o.Modified = u.GetCreationTimestamp().UTC(), modified
		o.ResourceVersion, o.Generation = u.GetResourceVersion(), u.GetGeneration()
		return &o, wrong
	}
}

// content is what the API server has sent of an object of type typ: all of it, or its metadata,
// which does not say whose it is. It is nil for neither.
func content(obj any, typ api.Type) *unstructured.Unstructured {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		return o
	case *metav1.PartialObjectMetadata:
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil
		}
		u := &unstructured.Unstructured{Object: fields}
		group, _ := builtIn(typ)
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: typ.Version, Kind: typ.Name})
		return u
	}
	return nil
}

// readable reports whether a Secret is of a type that weft reads where it lies: a cluster has many
// that nobody wrote for weft.
func (s *Store) readable(u *unstructured.Unstructured) bool {
	switch t, _, _ := unstructured.NestedString(u.Object, "type"); t {
	case api.SecretTLS, api.SecretOpaque:
		return slices.Contains(s.cfg.Secrets, u.GetNamespace())
	case api.SecretMesh:
		return u.GetNamespace() == s.cfg.MeshSecrets
	}
	return false
}

// lastWrite is when an object was written last, as far as it says.
func lastWrite(u *unstructured.Unstructured) time.Time {
	latest := u.GetCreationTimestamp().Time
	for _, m := range u.GetManagedFields() {
		if m.Time != nil && m.Time.After(latest) {
			latest = m.Time.Time
		}
	}
	return latest.UTC()
}

// foreign says of each object of a kind of Kuma's that weft has none of it.
func foreign(kind string) reader {
	return func(obj any) (*api.Object, []*api.Violation) {
		ref := api.Ref{Kind: kind}
		ref.Namespace, ref.Name = accessor(obj)
		if m, ok := obj.(metav1.Object); ok {
			ref.Mesh = m.GetLabels()[api.LabelMesh]
		}
		return nil, []*api.Violation{{Object: ref, Code: unsupported.CodeUnsupportedKind, Severity: api.Warning, Message: unsupported.Message(kind)}}
	}
}
