package admission

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/store"
)

// Unopened warns of meshes in which writes switch mutual TLS on, and that get no default permission
// because they bring one, or have one, that is not about the whole mesh: what no permission is about
// lets nobody in there. Had the mesh been written before the permission, it would.
func Unopened(now *snapshot.Snapshot, writes []store.Write) (out []*api.Violation) {
	before, after := written{now, nil}, written{now, writes}
	seen := map[string]bool{}
	for _, w := range writes {
		ref := w.Ref()
		mesh := ref.Mesh
		if ref.Kind == api.KindMesh {
			mesh = ref.Name
		} else if ref.Kind != api.KindMeshIdentity {
			continue
		}
		if w.Put == nil || seen[mesh] || before.proves(mesh) || !after.proves(mesh) {
			continue
		}
		seen[mesh] = true
		if first := after.partly(mesh); first != nil {
			out = append(out, &api.Violation{Position: notes.LocatorIn(snapshot.New(0, w.Put)).Of(api.Note{Origin: &api.Origin{Ref: ref}}), Object: ref, Code: trafficpermission.CodeNobodyAllowed, Severity: api.Warning,
				Message: fmt.Sprintf("inbounds that no permission is about let nobody in: the mesh gets no permission that lets all in, because it has permissions of its own from the start, such as %s; add one with targetRef {kind: Mesh} that allows whom it should, or apply the mesh first to have the one that lets all in", first.Ref)})
		}
	}
	return out
}

// partly is the first permission of a mesh, where it has some and none is about the whole mesh and
// lets somebody in; nil else.
func (s written) partly(mesh string) *api.Object {
	spec := s.mesh(mesh)
	if spec != nil && (slices.Contains(spec.SkipCreatingInitialPolicies, "*") || slices.Contains(spec.SkipCreatingInitialPolicies, permissionOfMesh.kind)) {
		return nil // so it is said to be meant
	}
	var first *api.Object
	for _, o := range s.of(permissionOfMesh.kind, mesh) {
		if o.Name == api.RevocationsName(mesh) || o.Shadow() {
			continue
		}
		says, ok := o.Spec.(*policies.Spec)
		if ok && says.Top().Kind == api.KindMesh && !says.Kind.Authorizer.OnlyDenies(says) {
			return nil
		}
		if first == nil || o.Ref.Compare(first.Ref) < 0 {
			first = o
		}
	}
	return first
}
