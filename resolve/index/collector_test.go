package index_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/policies"
)

const collectors = `
{type: MeshOpenTelemetryBackend, mesh: default, name: b, creationTime: 2026-01-02T00:00:00Z, labels: {team: x}, spec: {endpoint: {address: 10.0.0.2, port: 4317}}}
---
{type: MeshOpenTelemetryBackend, mesh: default, name: c, creationTime: 2026-01-01T00:00:00Z, labels: {team: x}, spec: {endpoint: {address: 10.0.0.3, port: 4317}}}
---
{type: MeshOpenTelemetryBackend, mesh: default, name: d, creationTime: 2026-01-02T00:00:00Z, labels: {team: y}, spec: {endpoint: {address: 10.0.0.4, port: 4317}}}
---
{type: MeshOpenTelemetryBackend, mesh: default, name: a, creationTime: 2026-01-02T00:00:00Z, labels: {team: y}, spec: {endpoint: {address: 10.0.0.1, port: 4317}}}
---
{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.9, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
type: MeshAccessLog
mesh: default
name: logs
spec:
  targetRef: {kind: Mesh}
  rules:
  - default:
      backends:
      - {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, labels: {team: x}}}}
      - {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, labels: {team: y}}}}
      - {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: b}}}
      - {type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: nobody}}}
`

// TestWhichCollectorIsMeant: a ref by labels leads to the oldest collector that has them, then to the first by name;
// one by a name to that, and one that nothing has to none (spec/kinds.md 10).
func TestWhichCollectorIsMeant(t *testing.T) {
	t.Parallel()
	m := resolvetest.Compile(t, "collectors.yaml", []byte(collectors))
	r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"})
	if !ok {
		t.Fatal("the dataplane is not there")
	}
	var got []string
	for _, e := range r.Inbounds[0].Policies {
		n, ok := e.Conf.(policies.CollectorNamer)
		if !ok {
			continue
		}
		for _, ref := range n.CollectorRefs {
			if ref.To == nil {
				got = append(got, "none")
				continue
			}
			got = append(got, ref.To.Address)
		}
	}
	if want := []string{"10.0.0.3", "10.0.0.1", "10.0.0.2", "none"}; !slices.Equal(got, want) {
		t.Errorf("the refs lead to %v, want %v", got, want)
	}
}
