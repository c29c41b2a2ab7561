package admission

import (
	"encoding/json"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/store"
)

// catalog knows what weft writes by itself.
var catalog = func() *api.Catalog {
	types := api.Types()
	for _, k := range all.Kinds {
		types = append(types, k.Type())
	}
	return api.NewCatalog(types...)
}()

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
		objects = append(objects, p.object(api.Ref{Kind: p.kind, Mesh: mesh, Name: p.name + mesh}))
	}
	return objects
}

// defaults are the policies that come along with writes: those of the meshes that writes create,
// but for those that exist or are written, and the permissions of those that start to prove who
// calls.
func defaults(now *snapshot.Snapshot, writes []store.Write) []store.Write {
	var extra []store.Write
	coming := map[api.Ref]bool{}
	for _, w := range writes {
		coming[w.Ref()] = true
	}
	for _, w := range writes {
		if w.Put == nil || w.Put.Kind != api.KindMesh || now.Has(w.Put.Ref) {
			continue
		}
		mesh, _ := w.Put.Spec.(*api.Mesh)
		for _, p := range DefaultPolicies(w.Put.Name, mesh.SkipCreatingInitialPolicies) {
			if !now.Has(p.Ref) && !coming[p.Ref] {
				extra = append(extra, store.Write{Put: p, Own: true})
			}
		}
	}
	for _, p := range newPermissions(now, writes) {
		extra = append(extra, store.Write{Put: p, Own: true})
	}
	return extra
}
