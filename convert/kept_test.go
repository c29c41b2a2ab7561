package convert_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
)

// A policy that targets a translated route by its old kind is named.
func TestPoliciesOfTranslatedRoutesAreNamed(t *testing.T) {
	t.Parallel()
	objects, found := world.Decode("test.yaml", []byte(`
{type: HTTPProxy, mesh: default, name: web, spec: {virtualhost: {fqdn: a.example.org}, routes: [{services: [{name: v1, port: 80}]}]}}
---
{type: MeshTimeout, mesh: default, name: slow, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: HTTPProxy, name: web}, default: {http: {requestTimeout: 3s}}}]}}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got := convert.Objects(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Dialects(), Kind: "RouteGroup"})
	for _, n := range got.Notes {
		if n.Origin.Name == "slow" && n.Field == "spec.to[0].targetRef" && strings.Contains(n.Message, "HTTPProxy web, which is RouteGroup web now") {
			return
		}
	}
	t.Errorf("the policy is not named: %v", got.Notes)
}
