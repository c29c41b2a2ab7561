// Package world is the composition of weft without a server: which types,
// route dialects and kinds of policy there are, how files become a snapshot,
// and a snapshot a model. The control plane, the command line and tests all
// begin here, so that they cannot differ.
package world

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/route"
)

// Types are all types of documents: the base types, those of the route
// dialects, and one for each kind of policy.
func Types() []api.Type {
	types := api.Types()
	for _, d := range Dialects() {
		types = append(append(types, d.Types...), d.Beside...)
	}
	for _, k := range Kinds() {
		types = append(types, k.Type())
	}
	return types
}

// Catalog knows all types.
func Catalog() *api.Catalog { return catalog }

var catalog = api.NewCatalog(Types()...)

// Dialects are all route languages, strongest first, as they are without settings.
func Dialects() []route.Dialect { return Settings{}.dialects() }

// Kinds are all kinds of policy.
func Kinds() []*policies.Kind { return all.Kinds }

// DefaultMesh is the document of mesh default as weft makes it: the mesh that exists where no
// document says otherwise.
func DefaultMesh() *api.Object { return admission.DefaultMesh() }

// Snapshot is the state of a world that consists of objects alone. Mesh
// default exists in it unless a document says otherwise.
func Snapshot(objects ...*api.Object) *snapshot.Snapshot {
	return snapshot.New(1, append([]*api.Object{DefaultMesh()}, objects...)...)
}

// Complete is the state of a world that a control plane would have of objects
// alone: beside mesh default, each mesh has its default policies, unless a
// document stands in the place of one or the Mesh skips it, and where it proves who calls and
// no document says who may, the permission for all. Added are those.
func Complete(objects ...*api.Object) (s *snapshot.Snapshot, added []*api.Object) {
	written := map[api.Ref]bool{}
	all := append([]*api.Object{DefaultMesh()}, objects...)
	for _, o := range objects {
		written[o.Ref] = true
	}
	for _, o := range all {
		spec, ok := o.Spec.(*api.Mesh)
		if !ok || o == DefaultMesh() && written[o.Ref] {
			continue
		}
		for _, p := range admission.DefaultPolicies(o.Name, spec.SkipCreatingInitialPolicies) {
			if !written[p.Ref] {
				added = append(added, p)
			}
		}
	}
	s = snapshot.New(1, append(all, added...)...)
	for mesh := range s.OfKind(api.KindMesh) {
		if admission.LacksPermission(s, mesh.Name) {
			added = append(added, admission.DefaultPermission(mesh.Name))
		}
	}
	return snapshot.New(1, append(all, added...)...), added
}
