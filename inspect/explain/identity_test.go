package explain_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
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
