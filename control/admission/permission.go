package admission

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/store"
)

// permissionOfMesh lets all workloads of a mesh call each other. It holds at an inbound as long as
// no other permission is about that (spec/identity.md 1.5, 4.1).
var permissionOfMesh = defaultPolicy{trafficpermission.Kind.Name, "mesh-traffic-permission-all-", `spec:
  targetRef:
    kind: Mesh
  from:
    - targetRef:
        kind: Mesh
      default:
        action: Allow
`, nil}

// DefaultPermission is the document that comes where a mesh starts to prove who calls and says of
// nobody that he may: without it all calls would end there.
func DefaultPermission(mesh string) *api.Object {
	return permissionOfMesh.object(api.Ref{Kind: permissionOfMesh.kind, Mesh: mesh, Name: permissionOfMesh.name + mesh})
}

// newPermissions are the default permissions of the meshes in which writes switch mutual TLS on, or
// a provider of identities, and that have no permission after that (spec/identity.md 1.5). Those
// of a mesh that proves already, which somebody has taken away, do not come again.
func newPermissions(now *snapshot.Snapshot, writes []store.Write) []*api.Object {
	var meshes []string
	for _, w := range writes {
		ref := w.Ref()
		if ref.Kind == api.KindMesh {
			ref.Mesh = ref.Name
		} else if ref.Kind != api.KindMeshIdentity {
			continue
		}
		if !slices.Contains(meshes, ref.Mesh) {
			meshes = append(meshes, ref.Mesh)
		}
	}
	var out []*api.Object
	for _, mesh := range meshes {
		if after := (written{now, writes}); !(written{now, nil}).proves(mesh) && after.lacksPermission(mesh) {
			out = append(out, DefaultPermission(mesh))
		}
	}
	return out
}

// Proves reports whether somebody signs what workloads of a mesh are called.
func Proves(s *snapshot.Snapshot, mesh string) bool { return written{s, nil}.proves(mesh) }

// LacksPermission reports whether a mesh proves who calls and no document says who may, nor that it
// wants none to come with it.
func LacksPermission(s *snapshot.Snapshot, mesh string) bool {
	return written{s, nil}.lacksPermission(mesh)
}

// written is a snapshot after writes.
type written struct {
	*snapshot.Snapshot
	writes []store.Write
}

// of are the objects of a kind of a mesh.
func (s written) of(kind, mesh string) []*api.Object {
	touched := map[api.Ref]bool{}
	var out []*api.Object
	for _, w := range slices.Backward(s.writes) {
		ref := w.Ref()
		if ref.Kind != kind || ref.Mesh != mesh || touched[ref] {
			continue
		}
		if touched[ref] = true; w.Put != nil {
			out = append(out, w.Put)
		}
	}
	for o := range s.Of(kind, mesh) {
		if !touched[o.Ref] {
			out = append(out, o)
		}
	}
	return out
}

func (s written) mesh(name string) *api.Mesh {
	ref := api.Ref{Kind: api.KindMesh, Name: name}
	for _, w := range slices.Backward(s.writes) {
		if w.Ref() != ref {
			continue
		}
		if w.Put == nil {
			return nil
		}
		spec, _ := w.Put.Spec.(*api.Mesh)
		return spec
	}
	o, ok := s.Get(ref)
	if !ok {
		return nil
	}
	spec, _ := o.Spec.(*api.Mesh)
	return spec
}

// proves reports whether somebody signs what workloads of the mesh are called.
func (s written) proves(mesh string) bool {
	if spec := s.mesh(mesh); spec != nil && spec.MTLS != nil && spec.MTLS.EnabledBackend != "" {
		return true
	}
	return slices.ContainsFunc(s.of(api.KindMeshIdentity, mesh), func(o *api.Object) bool {
		spec, ok := o.Spec.(*api.MeshIdentity)
		return ok && spec.Provider != nil
	})
}

func (s written) lacksPermission(mesh string) bool {
	spec := s.mesh(mesh)
	if spec == nil || slices.Contains(spec.SkipCreatingInitialPolicies, "*") || slices.Contains(spec.SkipCreatingInitialPolicies, permissionOfMesh.kind) {
		return false
	}
	return s.proves(mesh) && !slices.ContainsFunc(s.of(permissionOfMesh.kind, mesh), func(o *api.Object) bool { return o.Name != api.RevocationsName(mesh) })
}
