package policies_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies"
)

// TestEveryCollectorOfADocument: whatever part of a policy names a collector, and however many parts do, each ref is
// found, at its path.
func TestEveryCollectorOfADocument(t *testing.T) {
	t.Parallel()
	const document = `
type: MeshAccessLog
mesh: default
name: logs
spec:
  targetRef: {kind: Mesh}
  to:
  - {targetRef: {kind: Mesh}, default: {backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: a}}}]}}
  - {targetRef: {kind: MeshService, name: web}, default: {backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: b}}}]}}
  rules:
  - {default: {backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: c}}}]}}
  - {default: {backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: d}}}]}}
`
	objects, err := decode.Objects(world.Catalog(), "f", []byte(document))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	spec := objects[0].Spec.(*policies.Spec)
	named := func(s *policies.Spec) (out []string) {
		for at, ref := range s.CollectorRefs {
			out = append(out, string(at)+" "+ref.Name)
		}
		return out
	}
	want := []string{
		"spec.to[0].default.backends[0].openTelemetry.backendRef a", "spec.to[1].default.backends[0].openTelemetry.backendRef b",
		"spec.rules[0].default.backends[0].openTelemetry.backendRef c", "spec.rules[1].default.backends[0].openTelemetry.backendRef d",
	}
	if got := named(spec); !slices.Equal(got, want) {
		t.Errorf("refs %q, want %q", got, want)
	}
}
