package kuma

import (
	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
)

// The kinds beside routes that the refs of a route may have.
var (
	topKinds     = []string{api.KindMesh, api.KindDataplane, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset, api.KindMeshGateway}
	toKinds      = []string{api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService}
	gatewayKinds = append(toKinds[:len(toKinds):len(toKinds)], api.KindMesh) // of to, where top is a MeshGateway
	backendKinds = append(toKinds[:len(toKinds):len(toKinds)], api.KindMeshServiceSubset)
)

// entry is one entry of to, of either kind of route.
type entry interface{ destination() api.TargetRef }

// targets are the targetRefs of to.
func targets[E entry](to []E) []api.TargetRef {
	out := make([]api.TargetRef, len(to))
	for i := range to {
		out[i] = to[i].destination()
	}
	return out
}

func topOf(ref *api.TargetRef) api.TargetRef {
	if ref == nil {
		return api.TargetRef{Kind: api.KindMesh}
	}
	return *ref
}

// refs are the refs of a route and where they stand.
type refs struct {
	top      *api.TargetRef // as written
	to       []api.TargetRef
	backends []backendAt
}

type backendAt struct {
	at  api.Path
	ref *BackendRef
}

// list adds the backends of a list that stands at at.
func (r *refs) list(at api.Path, list []BackendRef) {
	for b := range list {
		r.backends = append(r.backends, backendAt{at.Index(b), &list[b]})
	}
}

// validate checks the refs of o, whose spec stands at at, and refuses a route of a
// namespace that has two roles at once (spec/kuma.md 4.2).
func (r *refs) validate(o *api.Object, c *api.Catalog, at api.Path) error {
	var errs *multierror.Error
	if r.top != nil {
		errs = multierror.Append(errs, api.ValidateTargetRef(at.Field("targetRef"), *r.top, api.RefRules{Top: true, Kinds: topKinds, Catalog: c}))
	}
	kinds, top := toKinds, topOf(r.top)
	if top.Kind == api.KindMeshGateway {
		kinds = gatewayKinds
	}
	for i, ref := range r.to {
		errs = multierror.Append(errs, api.ValidateTargetRef(at.Field("to").Index(i).Field("targetRef"), ref, api.RefRules{Kinds: kinds, Catalog: c}))
	}
	for _, b := range r.backends {
		errs = multierror.Append(errs, api.ValidateTargetRef(b.at, b.ref.ref(), api.RefRules{Kinds: backendKinds, Catalog: c}))
	}
	errs = multierror.Append(errs, api.MixedRoles(at.Field("to"), o.Home(), top, r.to))
	return errs.ErrorOrNil()
}
