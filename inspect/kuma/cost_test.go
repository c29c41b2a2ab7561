package kuma_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/resolve"
)

// many is a mesh of services with a policy for each, of which one dataplane calls
// one; sidecars is how many others there are.
func many(t *testing.T, services, sidecars int) *resolve.Reader {
	t.Helper()
	var text strings.Builder
	text.WriteString("{type: Mesh, name: default, meshServices: {mode: Exclusive}}\n")
	for i := range services {
		fmt.Fprintf(&text, `---
{type: MeshService, mesh: default, name: s-%[1]d, spec: {selector: {dataplaneTags: {kuma.io/service: s-%[1]d}}, ports: [{port: 80, name: main, appProtocol: http}]}}
---
{type: MeshTimeout, mesh: default, name: t-%[1]d, spec: {to: [{targetRef: {kind: MeshService, name: s-%[1]d}, default: {http: {requestTimeout: 3s}}}]}}
`, i)
	}
	for i := range sidecars + 1 {
		fmt.Fprintf(&text, "---\n{type: Dataplane, mesh: default, name: d-%d, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: x}}], outbound: [{port: 10001, backendRef: {kind: MeshService, name: s-0, port: 80}}]}}\n", i)
	}
	return inspecttest.Model(t, text.String())
}

// A view costs what it lists: as many values again for twice as many services,
// and nothing for other dataplanes.
func TestViewsCostWhatTheyList(t *testing.T) {
	t.Parallel()
	views := map[string]func(*resolve.Reader) (any, error){
		"_rules":  func(q *resolve.Reader) (any, error) { return kuma.Rules(q, world.Catalog(), plane("d-0")) },
		"rules":   func(q *resolve.Reader) (any, error) { return kuma.Legacy(q, plane("d-0")) },
		"_layout": func(q *resolve.Reader) (any, error) { return kuma.LayoutOf(q, world.Catalog(), plane("d-0")) },
		"_outbounds": func(q *resolve.Reader) (any, error) {
			return kuma.OutboundPolicies(q, world.Catalog(), plane("d-0"), "kri_msvc_default___s-0_main", "")
		},
		"_inbounds": func(q *resolve.Reader) (any, error) {
			return kuma.InboundPolicies(q, world.Catalog(), plane("d-0"), "kri_dp_default___d-0_80")
		},
	}
	cost := func(name string, q *resolve.Reader) (visited, size int) {
		v, err := views[name](q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return q.Visited(), len(text)
	}
	for name := range views {
		few, size := cost(name, many(t, 10, 0))
		twice, larger := cost(name, many(t, 20, 0))
		crowd, same := cost(name, many(t, 10, 50))
		if twice > 2*few+4 || crowd > few {
			t.Errorf("%s looks at %d values, %d for twice the services, %d among other dataplanes", name, few, twice, crowd)
		}
		if larger > 2*size+200 || same != size {
			t.Errorf("%s has %d bytes, %d for twice the services, %d among other dataplanes", name, size, larger, same)
		}
	}
}
