package api

// TargetRef selects objects, dataplanes or destinations (spec/kuma.md 4.1).
// Which fields may be set depends on the kind and on where the ref stands.
type TargetRef struct {
	Kind        string            `json:"kind"`
	Group       string            `json:"group,omitempty"`
	Name        string            `json:"name,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	SectionName string            `json:"sectionName,omitempty"`
	ProxyTypes  []string          `json:"proxyTypes,omitempty" schema:"enum=Sidecar|Gateway"`
	Mesh        string            `json:"mesh,omitempty"`
}

// Kinds that a TargetRef may name beside the routes, which only their dialects know.
const (
	KindMesh                 = "Mesh"
	KindDataplane            = "Dataplane"
	KindMeshSubset           = "MeshSubset"
	KindMeshGateway          = "MeshGateway"
	KindMeshService          = "MeshService"
	KindMeshServiceSubset    = "MeshServiceSubset"
	KindMeshExternalService  = "MeshExternalService"
	KindMeshMultiZoneService = "MeshMultiZoneService"
	KindHostnameGenerator    = "HostnameGenerator"
	KindService              = "Service" // of Kubernetes, as those below
	KindEndpointSlice        = "EndpointSlice"
	KindNamespace            = "Namespace"
	KindPod                  = "Pod"
	KindNode                 = "Node"
	KindReplicaSet           = "ReplicaSet"
	KindJob                  = "Job"
	KindSecret               = "Secret"
	// KindHost is a host that route objects serve, at one port. No document names it.
	KindHost = "Host"
	// KindAddress is what answers at addresses that a route itself names. No document
	// names it.
	KindAddress = "Address"
)

// IsRoute reports whether the ref, which is valid, names a route object: what is
// none of the kinds above is one of a route dialect, which the Catalog knows.
func (t TargetRef) IsRoute() bool {
	_, own := fieldsOfKind[t.Kind]
	return t.Kind != "" && !own
}

// InMesh is the ref as the mesh has it: a Service of Kubernetes and its MeshService are one.
func (t TargetRef) InMesh() TargetRef {
	if t.Kind == KindService {
		t.Kind = KindMeshService
	}
	return t
}

// DefaultMesh is the mesh of documents that name none.
const DefaultMesh = "default"
