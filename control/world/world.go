// Package world is the composition of weft without a server: which types,
// route dialects and kinds of policy there are, how files become a snapshot,
// and a snapshot a model. The control plane, the command line and tests all
// begin here, so that they cannot differ.
package world

import (
	"encoding/json"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
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

// defaultMesh is the mesh that exists where no document says otherwise.
var defaultMesh = mustDecode("type: Mesh\nname: default\n")

// DefaultMesh is the document of mesh default as weft makes it.
func DefaultMesh() *api.Object { return defaultMesh }

// DefaultMeshWith is DefaultMesh of an installation that says who its tenants are.
func DefaultMeshWith(t *api.Tenancy) *api.Object {
	if t == nil {
		return defaultMesh
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it holds texts
	}
	objects, err := decode.Objects(catalog, "", fmt.Appendf(nil, "type: Mesh\nname: default\ntenancy: %s\n", text))
	if api.Refuses(err) || len(objects) != 1 {
		panic(fmt.Sprintf("mesh default: %v", err)) // whoever gave it has validated it
	}
	return objects[0]
}

func mustDecode(text string) *api.Object {
	objects, err := decode.Objects(catalog, "", []byte(text))
	if err != nil || len(objects) != 1 {
		panic(fmt.Sprintf("built-in document: %v", err))
	}
	return objects[0]
}

// Snapshot is the state of a world that consists of objects alone. Mesh
// default exists in it unless a document says otherwise.
func Snapshot(objects ...*api.Object) *api.Snapshot {
	return api.NewSnapshot(1, append([]*api.Object{defaultMesh}, objects...)...)
}

// Complete is the state of a world that a control plane would have of objects
// alone: beside mesh default, each mesh has its default policies, unless a
// document stands in the place of one or the Mesh skips it, and where it proves who calls and
// no document says who may, the permission for all. Added are those.
func Complete(objects ...*api.Object) (s *api.Snapshot, added []*api.Object) {
	written := map[api.Ref]bool{}
	all := append([]*api.Object{defaultMesh}, objects...)
	for _, o := range objects {
		written[o.Ref] = true
	}
	for _, o := range all {
		spec, ok := o.Spec.(*api.Mesh)
		if !ok || o == defaultMesh && written[o.Ref] {
			continue
		}
		for _, p := range DefaultPolicies(o.Name, spec.SkipCreatingInitialPolicies) {
			if !written[p.Ref] {
				added = append(added, p)
			}
		}
	}
	s = api.NewSnapshot(1, append(all, added...)...)
	for mesh := range s.OfKind(api.KindMesh) {
		if LacksPermission(s, mesh.Name) {
			added = append(added, DefaultPermission(mesh.Name))
		}
	}
	return api.NewSnapshot(1, append(all, added...)...), added
}

// DefaultPolicies are the documents that come with a new mesh
// (spec/kuma.md 1.3): what would hold anyway becomes visible and can be edited.
// Names of types in skip, or *, leave some out.
func DefaultPolicies(mesh string, skip []string) []*api.Object {
	leave := map[string]bool{}
	for _, s := range skip {
		leave[s] = true
	}
	var objects []*api.Object
	for _, p := range defaultPolicies {
		if leave["*"] || leave[p.kind] {
			continue
		}
		ref := api.Ref{Kind: p.kind, Mesh: mesh, Name: p.name + mesh}
		o, err := decode.One(catalog, "", p.document(ref), ref)
		if o == nil {
			panic(fmt.Sprintf("built-in document: %v", err))
		}
		objects = append(objects, o)
	}
	return objects
}
