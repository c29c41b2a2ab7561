package api

import (
	"github.com/weftmesh/weft/api/redact"
)

// MeshSecret is Kuma's document of type Secret: one value of a mesh (spec/identity.md 2.1). It
// is the form of a Secret of type SecretMesh without a namespace, which is what is stored.
type MeshSecret struct {
	// Data is the value, in base64.
	Data *redact.Material `json:"data,omitempty" schema:"required"`
}

// InMesh is the type of Secrets of meshes: that of Kubernetes' Secrets in the form of Kuma. Not
// ok for a type that has none.
func (c *Catalog) InMesh(t Type) (of Type, ok bool) {
	if t.Secret {
		t.New = func() Spec { return new(MeshSecret) }
		return t, true
	}
	return t, !t.Cluster
}

// MeshSecretValue is the name of the value in a Secret of type SecretMesh.
const MeshSecretValue = "value"

// Validate wants the value.
func (m *MeshSecret) Validate(at Path) error {
	if m.Data == nil {
		return at.Field("data").Breaks("is missing; write the value in base64")
	}
	if plain, _ := m.Data.Bytes(); len(plain) > maxSecret {
		return at.Field("data").Breaks("holds %d bytes; at most %d are allowed", len(plain), maxSecret)
	}
	return nil
}

// ValidateObject wants a document of a mesh, and of no namespace.
func (m *MeshSecret) ValidateObject(o *Object, _ *Catalog, _ Path) error {
	if o.Namespace != "" {
		return Path("namespace").Breaks("a Secret of a mesh lies in none; remove it, or write a Secret of Kubernetes, which begins with apiVersion: v1")
	}
	return nil
}

// Secret is the document as it is kept.
func (m *MeshSecret) Secret() *Secret {
	s := &Secret{Type: SecretMesh}
	if m.Data != nil {
		s.Data = map[string]redact.Material{MeshSecretValue: *m.Data}
	}
	return s
}

// OfMesh is the Secret in Kuma's form; nil where it is one of Kubernetes.
func (s *Secret) OfMesh() *MeshSecret {
	m, ok := s.Data[MeshSecretValue]
	if s.Type != SecretMesh || !ok || len(s.Data) > 1 {
		return nil
	}
	return &MeshSecret{Data: &m}
}

// NewMeshSecret is a Secret of a mesh that holds a value. Namespace is that of the control plane
// in a cluster, and empty elsewhere.
func NewMeshSecret(mesh, namespace, name string, value []byte) *Object {
	m := redact.NewMaterial(value)
	return &Object{Ref: Ref{Kind: KindSecret, Mesh: mesh, Namespace: namespace, Name: name}, Spec: (&MeshSecret{Data: &m}).Secret()}
}

// ValidateObject refuses a Secret of a mesh where it has no effect.
func (s *Secret) ValidateObject(o *Object, _ *Catalog, at Path) error {
	switch {
	case s.Type != SecretMesh:
		return nil
	case s.OfMesh() == nil:
		return at.Field("data").Breaks("a Secret of type %s holds one value, %s; write that alone", SecretMesh, MeshSecretValue)
	}
	return operatorsOnly(o, "what authorities are made of")
}
