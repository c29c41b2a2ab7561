package permissions_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/terminal"
)

// TestPermissions: who may call what in a mesh, with the document that says so
// (spec/identity.md 4.7).
func TestPermissions(t *testing.T) {
	t.Parallel()
	objects := []*api.Object{}
	text := `{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin}]}}
---
{type: MeshTrafficPermission, mesh: default, name: p, spec: {targetRef: {kind: MeshSubset, tags: {kuma.io/service: backend}}, rules: [{default: {
  allow: [{spiffeID: {type: Exact, value: spiffe://default/ops}}, {spiffeID: {type: Exact, value: spiffe://default/web}, http: {methods: [GET]}}],
  allowWithShadowDeny: [{spiffeID: {type: Exact, value: spiffe://default/old}}]}}]}}
`
	for i, name := range []string{"backend", "old", "ops", "web"} {
		text += fmt.Sprintf("---\n{type: Dataplane, mesh: default, name: %s-1, networking: {address: 10.0.0.%d, inbound: [{port: 80, tags: {kuma.io/service: %[1]s, kuma.io/protocol: http}}]}}\n", name, i+1)
		objects = append(objects, &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name + "-1"}), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
	}
	decoded, err := decode.Objects(world.Catalog(), "f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := world.Compile(snapshot.New(1, append(objects, decoded...)...))
	var out bytes.Buffer
	x, err := permissions.Of(m.Reader(nil), "default", "", "backend")
	if err == nil {
		err = x.Text(&out, terminal.Style{})
	}
	const p = "MeshTrafficPermission/default/p spec.rules[0].default."
	want := `backend at port 80 http Strict  backend-1
  deny   spiffe://default/backend: no entry lets the caller in
  allow  spiffe://default/old: ` + p + `allowWithShadowDeny[0]; a shadow would deny it
  allow  spiffe://default/ops: ` + p + `allow[0]
  some   spiffe://default/web: ` + p + `allow[1]
`
	if got := out.String(); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	x, err = permissions.Of(m.Reader(nil), "default", "ops-1", "")
	if err != nil || len(x.Items) != 4 || x.Items[1].Access != "deny" || x.Items[1].Destination.Service != "old" {
		t.Errorf("%v %+v", err, x)
	}
	if _, err := permissions.Of(m.Reader(nil), "default", "nobody", ""); !errors.Is(err, inspect.ErrNotFound) {
		t.Error(err)
	}
}
