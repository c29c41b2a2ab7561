package plan_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/store"
)

// BenchmarkPlan plans two changes of a mesh of 10,000 dataplanes and 100 services, each called
// by 100 of them: of a retry that holds for one service, and of a timeout that holds for all.
func BenchmarkPlan(b *testing.B) {
	const services, callers = 100, 100
	var objects []*api.Object
	add := func(format string, args ...any) []*api.Object {
		list, found := world.Decode("bench.yaml", fmt.Appendf(nil, format, args...))
		if len(found) > 0 {
			b.Fatal(found[0])
		}
		objects = append(objects, list...)
		return list
	}
	for i := range services {
		add("{type: MeshService, mesh: default, name: s-%[1]d, spec: {selector: {dataplaneTags: {kuma.io/service: s-%[1]d}}, ports: [{port: 80, appProtocol: http}]}}", i)
		for j := range callers {
			add("{type: Dataplane, mesh: default, name: d-%[1]d-%[2]d, networking: {address: 10.0.%[1]d.%[2]d, inbound: [{port: 80, tags: {kuma.io/service: s-%[1]d}}], "+
				"outbound: [{port: 10001, backendRef: {kind: MeshService, name: s-%[3]d, port: 80}}]}}", i, j, (i+1)%services)
		}
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	renderer := world.Settings{}.Renderer()
	for name, change := range map[string]string{
		"one service": "{type: MeshRetry, mesh: default, name: r, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: s-7}, default: {http: {numRetries: 7}}}]}}",
		"the mesh":    "{type: MeshTimeout, mesh: default, name: t, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 7s}}}]}}",
	} {
		b.Run(name, func(b *testing.B) {
			write := []store.Write{{Put: add("%s", change)[0]}}
			size, affected := 0, 0
			for b.Loop() {
				step, results := step.Next(model, write, time.Unix(0, 0))
				step.Renderer = renderer
				p := plan.Of(step, results)
				text, err := json.Marshal(p)
				if err != nil {
					b.Fatal(err)
				}
				size, affected = len(text), p.Dataplanes.Affected
			}
			b.ReportMetric(float64(size), "bytes")
			b.ReportMetric(float64(affected), "dataplanes")
		})
	}
}
