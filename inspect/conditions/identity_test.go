package conditions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/resolve"
)

// TestWhoBelievesAnAuthority: of a document with an authority it is said whether there is its MeshTrust, by
// which others believe it, and which that is; or that the document wants none.
func TestWhoBelievesAnAuthority(t *testing.T) {
	t.Parallel()
	const own = "provider: {type: Bundled, bundled: {%sinsecureAllowSelfSigned: true, autogenerate: {enabled: true}}}"
	objects, err := decode.Objects(world.Catalog(), "test.yaml", []byte(`
{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}}
---
{type: MeshIdentity, mesh: default, name: new, spec: {selector: {}, `+fmt.Sprintf(own, "")+`}}
---
{type: MeshIdentity, mesh: default, name: believed, spec: {selector: {}, `+fmt.Sprintf(own, "")+`}}
---
{type: MeshIdentity, mesh: default, name: alone, spec: {selector: {}, `+fmt.Sprintf(own, "meshTrustCreation: Disabled, ")+`}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"believed", "mtls-default"} {
		objects = append(objects, &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: name}, Spec: &api.MeshTrust{TrustDomain: "default"}})
	}
	model, _ := world.Compile(snapshot.New(1, objects...))
	identity := func(name string) api.Ref { return api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: name} }
	for ref, want := range map[api.Ref]string{
		identity("new"):                       "False Pending its MeshTrust is not there yet",
		identity("believed"):                  "True Created MeshTrust/default/believed",
		identity("alone"):                     "False Disabled meshTrustCreation is Disabled",
		{Kind: api.KindMesh, Name: "default"}: "True Created MeshTrust/default/mtls-default",
	} {
		if got := said(t, model.Reader(nil), ref, "MeshTrustCreated"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, wanted %q", ref, got, want)
		}
	}
}

// TestNamesThatCannotBeMade: of a MeshIdentity it is said how many of its dataplanes have no name, which those are
// and why; nothing of one whose dataplanes all have theirs.
func TestNamesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	const identity = "{type: MeshIdentity, mesh: default, name: %s, spec: {selector: {dataplane: {matchLabels: {side: %[1]s}}}, spiffeID: {trustDomain: shop.test, path: '/{{ label \"app\" }}'}, " +
		"provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}}\n---\n"
	const dataplane = "{type: Dataplane, mesh: default, name: %s, labels: {side: %s}, networking: {address: 127.0.0.%d, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}\n---\n"
	m := inspecttest.Model(t, fmt.Sprintf(identity, "left")+fmt.Sprintf(identity, "right")+fmt.Sprintf(dataplane, "named", "left, app: web", 1)+
		fmt.Sprintf(dataplane, "nameless", "left", 2)+fmt.Sprintf(dataplane, "other", "right, app: web", 3))
	for name, want := range map[string]string{
		"left":  `False SpiffeIDInvalid 1 of 2 dataplanes have no name: nameless: `,
		"right": "True Ready ",
	} {
		if got := said(t, m, api.Ref{Kind: api.KindMeshIdentity, Mesh: "default", Name: name}, "SpiffeIDProvider"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, wanted %q", name, got, want)
		}
	}
}

// said is what the conditions of a type say of an object.
func said(t *testing.T, m *resolve.Reader, ref api.Ref, conditionType string) (out string) {
	t.Helper()
	s, err := conditions.StatusOf(m, ref, inspect.Listed(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Conditions {
		if c.Type == conditionType {
			out += c.Status + " " + c.Reason + " " + c.Message
		}
	}
	return out
}
