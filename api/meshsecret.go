package api

import "slices"

// MeshSecret is Kuma's document of type Secret: one value of a mesh (spec/identity.md 2.1). It
// is the form of a Secret of type SecretMesh without a namespace, which is what is stored.
type MeshSecret struct {
	// Data is the value, in base64.
	Data *Material `json:"data,omitempty" schema:"required"`
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
		s.Data = map[string]Material{MeshSecretValue: *m.Data}
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
	m := NewMaterial(value)
	return &Object{Ref: Ref{Kind: KindSecret, Mesh: mesh, Namespace: namespace, Name: name}, Spec: (&MeshSecret{Data: &m}).Secret()}
}

// MeshSecretIn is the value of a Secret of a mesh, which in a cluster lies in one of the system
// namespaces; not ok where there is none, or another hides its material.
func MeshSecretIn(s *Snapshot, mesh, name string, namespaces []string) (value []byte, ok bool) {
	ref, ok := MeshSecretRef(s, mesh, name, namespaces)
	if !ok {
		return nil, false
	}
	o, _ := s.Get(ref)
	return o.Spec.(*Secret).Data[MeshSecretValue].Bytes()
}

// MeshSecretRef is where the Secret lies that MeshSecretIn reads; not ok where there is none.
func MeshSecretRef(s *Snapshot, mesh, name string, namespaces []string) (Ref, bool) {
	for _, namespace := range slices.Concat([]string{""}, namespaces) {
		o, found := s.Get(Ref{Kind: KindSecret, Mesh: mesh, Namespace: namespace, Name: name})
		if !found {
			continue
		}
		if spec, _ := o.Spec.(*Secret); spec != nil && spec.OfMesh() != nil {
			return o.Ref, true
		}
	}
	return Ref{}, false
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
