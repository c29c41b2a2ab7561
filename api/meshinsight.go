package api

// KindMeshInsight is internal, as KindDataplaneInsight is.
const KindMeshInsight = "MeshInsight"

// MeshInsight is what a mesh said of identities before its documents changed, for as long as its
// dataplanes rely on it. One that has no identity any more goes on with that of before, its
// inbounds take plain text beside TLS, and who calls it goes on with TLS until its Envoy has
// acknowledged that (spec/identity.md 5: off again is the way backwards, certificates last).
type MeshInsight struct {
	MTLS       *MeshTLS
	Identities []*Object // MeshIdentities
}

// Validate finds nothing: nobody writes it.
func (*MeshInsight) Validate(Path) error { return nil }

// MeshInsightRef names the MeshInsight of a mesh.
func MeshInsightRef(mesh string) Ref { return Ref{Kind: KindMeshInsight, Mesh: mesh, Name: mesh} }
