package api

import (
	"cmp"
	"strings"
)

// Ref names one stored object. The origin of a built-in default, which no object
// gives, is a kind without a name.
type Ref struct {
	Kind      string `json:"kind"`
	Mesh      string `json:"mesh,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String is Kind/mesh/name, or Kind/mesh/namespace/name, as commands print it.
func (r Ref) String() string {
	s := r.Kind
	if r.Mesh != "" {
		s += "/" + r.Mesh
	}
	if r.Namespace != "" {
		s += "/" + r.Namespace
	}
	return s + "/" + r.Name
}

// Compare is a total order of refs: kind, mesh, namespace, name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Mesh, o.Mesh),
		cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// Resolve is r where exists knows it. Else a name <name>.<namespace>, as Kuma
// names objects of Kubernetes, stands for the object of that namespace if there
// is one; if not, r is all that is known.
func (r Ref) Resolve(exists func(Ref) bool) Ref {
	if r.Namespace != "" || exists(r) {
		return r
	}
	if dot := strings.LastIndexByte(r.Name, '.'); dot > 0 {
		long := r
		long.Name, long.Namespace = r.Name[:dot], r.Name[dot+1:]
		if exists(long) {
			return long
		}
	}
	return r
}

// FullName is the name that tells r from all of its kind and mesh: <name>, or
// <name>.<namespace>.
func (r Ref) FullName() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Name + "." + r.Namespace
}

// AsNode is the name by which a sidecar calls the Dataplane r in the node of its Envoy: without a
// namespace of its own, by its full name.
func (r Ref) AsNode() Ref { return Ref{Kind: r.Kind, Mesh: r.Mesh, Name: r.FullName()} }

// CutNamespace cuts [<namespace>/]<name>, as people write the name of an object.
func CutNamespace(text string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return namespace, name
	}
	return "", text
}

// Origin says who set a value: an object and, where it has them, the entry of
// its lists. Origins are made once for each entry and shared by pointer; two
// pointers may be equal in content, so compare with Same.
type Origin struct {
	Ref
	// To is the index in spec.to of a MeshHTTPRoute.
	To *int `json:"to,omitempty"`
	// Rule is the index of a rule of a route.
	Rule *int `json:"rule,omitempty"`
	// RuleName is the rule's own name, where the writer gave one.
	RuleName string `json:"ruleName,omitempty"`
	// Field is the entry of the document that spoke: spec.to[0].
	Field Path `json:"field,omitempty"`
}

// Same reports whether both name the same entry of the same object.
func (o *Origin) Same(p *Origin) bool {
	return o == p || o != nil && p != nil && o.Ref == p.Ref && o.Field == p.Field
}

// Protocol is the application protocol of a port.
type Protocol string

// The protocols that weft tells apart; unknown and empty ones are TCP.
const (
	TCP   Protocol = "tcp"
	HTTP  Protocol = "http"
	HTTP2 Protocol = "http2"
	GRPC  Protocol = "grpc"
)

// HTTPLike reports whether requests can be told apart in p.
func (p Protocol) HTTPLike() bool { return p == HTTP || p == HTTP2 || p == GRPC }

// ManagedByController is the LabelManagedBy of what weft makes of Services and pods.
const ManagedByController = "k8s-controller"

// Labels and tags that carry meaning (spec/kuma.md 1.2).
const (
	LabelMesh        = "kuma.io/mesh"
	LabelDisplayName = "kuma.io/display-name"
	LabelOrigin      = "kuma.io/origin"
	LabelZone        = "kuma.io/zone"
	LabelManagedBy   = "kuma.io/managed-by"
	LabelEnv         = "kuma.io/env"
	LabelNamespace   = "k8s.kuma.io/namespace"
	LabelPolicyRole  = "kuma.io/policy-role"
	LabelEffect      = "kuma.io/effect"
	LabelDefault     = "weft.io/default"
	TagService       = "kuma.io/service"
	TagProtocol      = "kuma.io/protocol"
)
