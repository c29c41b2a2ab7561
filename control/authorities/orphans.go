package authorities

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// orphans takes away what was made for authorities whose document is gone: their MeshTrusts, and
// what they were made of where the Mesh or the MeshIdentity itself is gone.
func (k *CAController) orphans(now *snapshot.Snapshot, owners map[api.Ref]*authority, outside []outside) []store.Write {
	kept := map[string]bool{}
	for _, a := range owners {
		kept[a.mesh+"/"+a.trust] = true
	}
	for _, x := range outside {
		kept[x.owner.Mesh+"/"+api.TrustName(x.owner)] = true
	}
	var out []store.Write
	for o := range now.OfKind(api.KindMeshTrust) {
		if kind, name := madeFor(o); api.MadeByWeft(o) && !kept[o.Mesh+"/"+o.Name] && !k.relied(now, o.Mesh) && (k.stands(now, o.Mesh, kind, name) || k.gone(kind, name)) {
			out = append(out, store.Write{Delete: &o.Ref, Own: true})
		}
	}
	for o := range now.OfKind(api.KindSecret) {
		if kind, name := madeFor(o); api.MadeByWeft(o) && o.Namespace == k.cfg.Namespace && !k.stands(now, o.Mesh, kind, name) && k.gone(kind, name) {
			out = append(out, store.Write{Delete: &o.Ref, Own: true})
		}
	}
	return out
}

// ofIdentity are the names of the Secrets that weft makes for a MeshIdentity: the certificate and
// the key of its root, and where its rotation stands.
func ofIdentity(name string) []string {
	return []string{name + "-root-ca", name + "-private-key", name + "-rotation"}
}

// madeFor is the document whose authority weft made an object for.
func madeFor(o *api.Object) (kind, name string) {
	name = o.Name
	if strings.HasPrefix(name, o.Mesh+".") || o.Kind == api.KindMeshTrust && name == api.TrustName(api.Ref{Kind: api.KindMesh, Name: o.Mesh}) {
		return api.KindMesh, o.Mesh
	}
	if o.Kind == api.KindSecret {
		name = trimmed(name)
		for _, suffix := range ofIdentity("") {
			name = strings.TrimSuffix(name, suffix)
		}
	}
	return api.KindMeshIdentity, name
}

// stands reports whether a document is there: a Mesh that the store provides in a cluster is not.
func (k *CAController) stands(now *snapshot.Snapshot, mesh, kind, name string) bool {
	if kind == api.KindMesh {
		o, ok := now.Get(api.Ref{Kind: kind, Name: name})
		return ok && (k.cfg.Namespace == "" || o.ResourceVersion != "")
	}
	return slices.ContainsFunc(slices.Collect(now.Of(kind, mesh)), func(o *api.Object) bool { return o.Name == name })
}

func (k *CAController) gone(kind, name string) bool {
	return k.cfg.Gone == nil || k.cfg.Gone(kind, name)
}

func (k *CAController) relied(now *snapshot.Snapshot, mesh string) bool {
	return k.cfg.Relied != nil && k.cfg.Relied(mesh, now.Revision())
}
