package api

import (
	"slices"
	"strings"
)

// Meta is what metadata of Kubernetes says beside names, labels and times, of the kinds
// for which it matters (Type.Meta). It is shared and immutable.
type Meta struct {
	// Annotations are those of IsOwnAnnotation; others are not kept.
	Annotations map[string]string
	UID         string
	Owners      []OwnerReference // the controller first
	Deleting    bool             // the object is on its way out
}

// OwnerReference names an object that another belongs to, in its namespace.
type OwnerReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
	Controller bool   `json:"controller,omitempty"`
}

// ClassAnnotations are those in which routes say of which ingress class they are, the strongest
// first.
var ClassAnnotations = []string{"projectcontour.io/ingress.class", "kubernetes.io/ingress.class", "zalando.org/routegroup.class"}

// IsOwnAnnotation reports whether an annotation is one of Kuma's or weft's, or names an ingress
// class: these are kept. A Service's protocol stands in <port>.service.kuma.io/protocol.
func IsOwnAnnotation(name string) bool {
	domain, _, ok := strings.Cut(name, "/")
	return ok && (slices.Contains(ClassAnnotations, name) || domain == "kuma.io" || strings.HasSuffix(domain, ".kuma.io") || domain == "weft.io" || strings.HasSuffix(domain, ".weft.io"))
}

// Annotation is one of those that are kept; empty where there is none.
func (o *Object) Annotation(name string) string {
	if o.Meta == nil {
		return ""
	}
	return o.Meta.Annotations[name]
}

// UID is what tells the object from others that had its name; empty outside of clusters.
func (o *Object) UID() string {
	if o.Meta == nil {
		return ""
	}
	return o.Meta.UID
}

// Deleting reports whether the object is on its way out.
func (o *Object) Deleting() bool { return o.Meta != nil && o.Meta.Deleting }
