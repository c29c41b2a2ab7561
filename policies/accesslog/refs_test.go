package accesslog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies"
)

// TestRefsToCollectors: each ref of a document is found, in every list of it, with its path.
func TestRefsToCollectors(t *testing.T) {
	t.Parallel()
	conf := func(names ...string) string {
		var list []string
		for _, name := range names {
			list = append(list, "{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: "+name+"}}}")
		}
		return "{backends: [" + strings.Join(list, ", ") + "]}"
	}
	objects, violations := world.Decode("docs", []byte(fmt.Sprintf(`
{type: MeshAccessLog, mesh: default, name: lists, spec: {targetRef: {kind: Mesh},
  to: [{targetRef: {kind: Mesh}, default: %s}, {targetRef: {kind: MeshService, name: web}, default: %s}, {targetRef: {kind: MeshService, name: db}, override: %s}],
  from: [{targetRef: {kind: Mesh}, default: %s}]}}
---
{type: MeshAccessLog, mesh: default, name: rules, spec: {targetRef: {kind: Mesh}, rules: [{default: %s}, {matches: [{spiffeID: {type: Exact, value: "spiffe://default/web"}}], default: %s}, {matches: [{spiffeID: {type: Exact, value: "spiffe://default/db"}}], override: %s}]}}
`, conf("a"), conf("b", "c"), conf("d"), conf("e"), conf("f"), conf("g"), conf("h"))))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	var got []string
	for _, o := range objects {
		for at, ref := range o.Spec.(*policies.Spec).CollectorRefs {
			got = append(got, fmt.Sprint(ref.Name, " ", at))
		}
	}
	want := []string{
		"a spec.to[0].default.backends[0].openTelemetry.backendRef", "b spec.to[1].default.backends[0].openTelemetry.backendRef",
		"c spec.to[1].default.backends[1].openTelemetry.backendRef", "d spec.to[2].override.backends[0].openTelemetry.backendRef",
		"e spec.from[0].default.backends[0].openTelemetry.backendRef", "f spec.rules[0].default.backends[0].openTelemetry.backendRef",
		"g spec.rules[1].default.backends[0].openTelemetry.backendRef", "h spec.rules[2].override.backends[0].openTelemetry.backendRef",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
