package mtls_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// TestIdentityIsExplained: who a dataplane is, how its inbounds take mutual TLS, and who says so.
func TestIdentityIsExplained(t *testing.T) {
	t.Parallel()
	objects, err := decode.Objects(world.Catalog(), "test.yaml", []byte(`
{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: PERMISSIVE}]}}
---
{type: Dataplane, mesh: default, name: web, networking: {address: 127.0.0.1, inbound: [{name: main, port: 80, tags: {kuma.io/service: web}}, {name: admin, port: 81, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: lost, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: "a:b"}}]}}
---
{type: MeshTLS, mesh: default, name: admin, spec: {targetRef: {kind: Dataplane, sectionName: admin}, rules: [{default: {mode: Strict}}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	heard := &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: "web"}), Spec: &api.DataplaneInsight{Identity: true}}
	model, _ := world.Compile(snapshot.New(1, append(objects, heard)...))
	for name, want := range map[string][]string{
		"web": {"spiffe://default/web, kuma://kuma.io/service/web  by Mesh/default mtls.backends[0]\n",
			"inbound main  at 127.0.0.1:80, tcp\n  mutual TLS or plain text, Permissive  by Mesh/default mtls.backends[0]\n",
			"inbound admin  at 127.0.0.1:81, tcp\n  mutual TLS alone, Strict  by MeshTLS/admin rules[0]\n"},
		"lost": {"has no identity: dataplane lost: mesh \"default\" and service \"a:b\" make no SPIFFE ID"},
	} {
		e, err := explain.Of(model.Reader(nil), api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}, "")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := explain.Text(&b, e, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s lacks %q:\n%s", name, text, b.String())
			}
		}
	}
}

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
		s, err := conditions.StatusOf(model.Reader(nil), ref, inspect.Listed(nil))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range s.Conditions {
			if c.Type == "MeshTrustCreated" {
				got += c.Status + " " + c.Reason + " " + c.Message
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, wanted %q", ref, got, want)
		}
	}
}

// TestTheNameOfADataplaneIsTold: who asks how far a mesh is with mutual TLS is told the first name of each
// dataplane, be it the only one.
func TestTheNameOfADataplaneIsTold(t *testing.T) {
	t.Parallel()
	q := inspecttest.Model(t, `
{type: MeshIdentity, mesh: default, name: own, spec: {selector: {dataplane: {matchLabels: {}}}, spiffeID: {trustDomain: shop.test, path: '/{{ label "app" }}'}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}}
---
{type: Dataplane, mesh: default, name: web, labels: {app: web}, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: lost, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}
`)
	known := mtls.ObservedBy{Sidecar: inspect.Listed(nil), Observed: func(api.Ref) (mtls.Observed, bool) { return mtls.Observed{}, false }}
	out, err := mtls.Of(q, "default", inspect.ListOptions{}, known)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range out.Items {
		got[d.Name] = d.Identity
	}
	if want := map[string]string{"web": "spiffe://shop.test/web", "lost": ""}; !maps.Equal(got, want) {
		t.Errorf("the names are %v, not %v", got, want)
	}
}
