package kuma_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// TestRoutesOfConnections: the one rule for connections stands where the rules of
// other routes do, with the list that holds and all who contributed.
func TestRoutesOfConnections(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, `
type: MeshService
mesh: default
name: db
spec: {selector: {dataplaneTags: {kuma.io/service: db}}, ports: [{port: 5432}]}
---
type: Dataplane
mesh: default
name: a-1
networking: {address: 127.0.0.1, inbound: [{port: 5432, tags: {kuma.io/service: db}}], outbound: [{port: 10001, backendRef: {kind: MeshService, name: db, port: 5432}}]}
---
type: MeshTCPRoute
mesh: default
name: strong
spec: {to: [{targetRef: {kind: MeshService, name: db}, rules: [{default: {backendRefs: [{kind: MeshService, name: db, port: 5432, weight: 3}]}}]}]}
---
type: MeshTCPRoute
mesh: default
name: weak
spec: {to: [{targetRef: {kind: MeshService, name: db}, rules: [{default: {backendRefs: [{kind: MeshService, name: db, port: 5432}]}}]}]}
`)
	list, err := kuma.Routes(m, world.Catalog(), plane("a-1"), "kri_msvc_default___db_5432")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"routes":[{"kind":"MeshTCPRoute","origins":[{"kri":"kri_mtcpr_default___weak_"},{"kri":"kri_mtcpr_default___strong_"}],` +
		`"rules":[{"kri":"kri_mtcpr_default___strong_rule_0","matches":[],"conf":{"backendRefs":[{"kind":"MeshService","name":"db","port":5432,"weight":3}]}}]}]}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
