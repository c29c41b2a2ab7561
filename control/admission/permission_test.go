package admission

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/store"
)

// TestNewPermissions: what switches mutual TLS on in a mesh without a permission brings one for
// all, once (spec/identity.md 1.5; 8, 16 and 17).
func TestNewPermissions(t *testing.T) {
	t.Parallel()
	mesh := func(on bool, skip ...string) *api.Object {
		spec := &api.Mesh{SkipCreatingInitialPolicies: skip}
		if on {
			spec.MTLS = &api.MeshTLS{EnabledBackend: "ca"}
		}
		return &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: "m"}, Spec: spec}
	}
	identity := func(provider bool) *api.Object {
		spec := &api.MeshIdentity{}
		if provider {
			spec.Provider = &api.IdentityProvider{Type: "Bundled"}
		}
		return &api.Object{Ref: api.Ref{Kind: api.KindMeshIdentity, Mesh: "m", Name: "i"}, Spec: spec}
	}
	permission := func(mesh, name string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: "MeshTrafficPermission", Mesh: mesh, Name: name}, Spec: &policies.Spec{}}
	}
	put := func(objects ...*api.Object) (out []store.Write) {
		for _, o := range objects {
			out = append(out, store.Write{Put: o})
		}
		return out
	}
	gone := func(o *api.Object) store.Write { return store.Write{Delete: &o.Ref} }
	for _, c := range []struct {
		what   string
		now    []*api.Object
		writes []store.Write
		want   int
	}{
		{"16: a new mesh", nil, put(mesh(true)), 1},
		{"16: switched on", []*api.Object{mesh(false)}, put(mesh(true)), 1},
		{"a provider", []*api.Object{mesh(false)}, put(identity(true)), 1},
		{"names alone", []*api.Object{mesh(false)}, put(identity(false)), 0},
		{"off", []*api.Object{mesh(false)}, put(mesh(false)), 0},
		{"on already: who has taken it away does not want it", []*api.Object{mesh(true)}, put(mesh(true), identity(true)), 0},
		{"17: with a permission", []*api.Object{mesh(false)}, put(mesh(true), permission("m", "p")), 0},
		{"one there is", []*api.Object{mesh(false), permission("m", "p")}, put(mesh(true)), 0},
		{"one that goes", []*api.Object{mesh(false), permission("m", "p")}, append(put(mesh(true)), gone(permission("m", "p"))), 1},
		{"another mesh's", []*api.Object{mesh(false), permission("other", "p")}, put(mesh(true)), 1},
		{"revocations alone", []*api.Object{mesh(false), permission("m", api.RevocationsName("m"))}, put(mesh(true)), 1},
		{"not wanted", []*api.Object{mesh(false)}, put(mesh(true, "MeshTrafficPermission")), 0},
		{"no policies wanted", []*api.Object{mesh(false)}, put(mesh(true, "*")), 0},
		{"other policies not wanted", []*api.Object{mesh(false)}, put(mesh(true, "MeshRetry")), 1},
	} {
		got := newPermissions(snapshot.New(1, c.now...), c.writes)
		if len(got) != c.want {
			t.Errorf("%s: %d documents, want %d", c.what, len(got), c.want)
		}
		for _, o := range got {
			if !o.IsDefault() || o.Name != "mesh-traffic-permission-all-m" {
				t.Errorf("%s: %s", c.what, o.Ref)
			}
		}
	}
}
