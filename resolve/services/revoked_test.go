package services_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

const secondServer = `
---
type: Dataplane
mesh: default
name: pay-2
labels: {team: pay}
networking: {address: 10.0.0.2, inbound: [{name: main, port: 8080, tags: {kuma.io/service: ledger, app: pay, kuma.io/protocol: http}}]}
`

// revocation is the document of revocations with one entry.
func revocation(more, entry string) string {
	return `
---
type: MeshTrafficPermission
mesh: default
name: revoked-identities-default
` + more + `
spec: {targetRef: {kind: Mesh}, rules: [{` + entry + `}]}
`
}

// TestNobodyIsLedToARevokedIdentity: in every mode, by every way in which a dataplane answers for
// something; its names are expected no more, and others go on to answer. Only what takes a name away
// from everybody counts, in the document of revocations.
func TestNobodyIsLedToARevokedIdentity(t *testing.T) {
	t.Parallel()
	const exact = `override: {deny: [{spiffeID: {type: Exact, value: spiffe://default/pay}}]}`
	for mode, mtls := range map[string]string{"strict": worlds.StrictMTLS, "permissive": worlds.PermissiveMTLS} {
		for what, c := range map[string]struct {
			text    string
			revoked bool
		}{
			"by name":                 {revocation("", exact), true},
			"by prefix":               {revocation("", `override: {deny: [{spiffeID: {type: Prefix, value: spiffe://default/pa}}]}`), true},
			"another":                 {revocation("", `override: {deny: [{spiffeID: {type: Exact, value: spiffe://default/pays}}]}`), false},
			"for some requests":       {revocation("", `override: {deny: [{spiffeID: {type: Exact, value: spiffe://default/pay}, http: {methods: [GET]}}]}`), false},
			"by default alone":        {revocation("", strings.Replace(exact, "override", "default", 1)), false},
			"as a shadow":             {revocation("labels: {kuma.io/effect: shadow}", exact), false},
			"in a namespace of users": {revocation("labels: {k8s.kuma.io/namespace: shop}", exact), false},
			"by another document":     {strings.Replace(revocation("", exact), "revoked-identities-default", "mine", 1), false},
		} {
			m, _ := resolve.Compile(snapshot.New(1, append(documents(t, memberDocs+secondServer+c.text), worlds.SecureMesh(t, world.Catalog(), mtls))...), world.Dialects(), world.Kinds())
			if got := led(m, "10.0.0.1"); c.revoked != (len(got) == 0) {
				t.Errorf("%s %s: %v lead to it", mode, what, got)
			}
			if got := led(m, "10.0.0.2"); len(got) != 4 {
				t.Errorf("%s %s: others answer for %v", mode, what, got)
			}
			r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "caller"})
			for _, cluster := range r.Clusters {
				if expected := cluster.TLS != nil && slices.Contains(cluster.TLS.Names, "spiffe://default/pay"); c.revoked && expected {
					t.Errorf("%s %s: %s expects %v", mode, what, cluster.Cluster.Name, cluster.TLS.Names)
				}
			}
			told := slices.ContainsFunc(m.Reader(nil).NotesOn(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "pay-1"}), func(n api.Note) bool { return n.Code == api.CodeIdentityRevoked })
			if told != c.revoked {
				t.Errorf("%s %s: told %v", mode, what, told)
			}
			if served, alone := m.AnsweredBy("default", func(ref api.Ref) bool { return ref.Name == "pay-1" }); len(served) != 6 || len(alone) != 2 {
				t.Errorf("%s %s: answers for %v, alone for %v", mode, what, served, alone)
			}
		}
	}
}

// TestAMeshIdentityCutsNothingOff: whom a MeshIdentity selects takes plain text as before, as Mesh.mtls
// has it and else in Permissive, until a MeshTLS says Strict; where nobody says it, that is told.
func TestAMeshIdentityCutsNothingOff(t *testing.T) {
	t.Parallel()
	const own = `
---
type: MeshIdentity
mesh: default
name: own
spec: {selector: {}, spiffeID: {trustDomain: td, path: '/{{ label "team" }}'}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}
`
	tls := func(top, mode string) string {
		return "\n---\ntype: MeshTLS\nmesh: default\nname: m\nspec: {targetRef: " + top + ", rules: [{default: {mode: " + mode + "}}]}\n"
	}
	for what, c := range map[string]struct {
		mtls, text, mode string
		told             bool
	}{
		"beside PERMISSIVE":      {worlds.PermissiveMTLS, own, effective.Permissive, false},
		"beside STRICT":          {worlds.StrictMTLS, own, effective.Strict, false},
		"alone":                  {"null", own, effective.Permissive, true},
		"beside one that is off": {worlds.NoMTLS, own, effective.Permissive, true},
		"with a MeshTLS":         {"null", own + tls("{kind: Mesh}", "Strict"), effective.Strict, false},
		"with a narrow MeshTLS":  {"null", own + tls("{kind: Dataplane, labels: {team: pay}}", "Strict"), effective.Strict, true},
	} {
		m, _ := resolve.Compile(snapshot.New(1, append(documents(t, memberDocs+c.text), worlds.SecureMesh(t, world.Catalog(), c.mtls), worlds.Insight("pay-1", api.DataplaneInsight{Identity: true}))...), world.Dialects(), world.Kinds())
		r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "pay-1"})
		if got := r.Inbounds[0].TLS; got == nil || got.Mode != c.mode {
			t.Errorf("%s: %+v, want %s", what, got, c.mode)
		}
		told := slices.ContainsFunc(m.Reader(nil).NotesOn(api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: "own"}), func(n api.Note) bool { return n.Code == api.CodePermissiveByDefault })
		if told != c.told {
			t.Errorf("%s: told %v", what, told)
		}
	}
}
