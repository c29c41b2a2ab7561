package decode_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// What Kuma's Dataplanes say of metrics and probes has no effect: it is read, kept and warned of, and never
// takes the dataplane away; so is the mesh of a MeshGateway, which Kuma's documents name beside the spec.
func TestFieldsOfKumaAreRead(t *testing.T) {
	t.Parallel()
	const plane = `networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}
metrics: {type: prometheus, conf: {port: 1234, path: /metrics, tags: {kuma.io/service: m}, tls: {mode: disabled}}}
probes: {port: 9000, endpoints: [{inboundPort: 8080, inboundPath: /healthz, path: /8080/healthz}]}
`
	in := func(text string) string { return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") }
	for name, c := range map[string]struct {
		text, mesh string
		warnings   []string
	}{
		"universal":  {"type: Dataplane\nmesh: m\nname: d\n" + plane, "m", []string{"metrics: weft takes no metrics from a workload", "probes: the sidecar of a pod answers its probes by itself"}},
		"kubernetes": {"apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: m\nmetadata: {name: d}\nspec:\n" + in(plane), "m", []string{"spec.metrics:", "spec.probes:"}},
		"gateway":    {"apiVersion: kuma.io/v1alpha1\nkind: MeshGateway\nmesh: m\nmetadata: {name: g}\nspec: {selectors: [], conf: {listeners: []}}", "m", []string{"spec.conf: weft has no MeshGateway"}},
	} {
		objects, err := decode.Objects(world.Catalog(), "", []byte(c.text))
		said := 0
		for _, v := range api.Violations(err) {
			if v.Severity == api.Error {
				t.Errorf("%s: %v", name, v)
				continue
			}
			for _, w := range c.warnings {
				if strings.Contains(v.Error(), w) {
					said++
				}
			}
		}
		if len(objects) != 1 || objects[0].Mesh != c.mesh || said != len(c.warnings) {
			t.Errorf("%s: %d objects, %d of %d warnings: %v", name, len(objects), said, len(c.warnings), err)
			continue
		}
		if dp, ok := objects[0].Spec.(*api.Dataplane); ok && (dp.Metrics["type"] != "prometheus" || dp.Probes["endpoints"] == nil) {
			t.Errorf("%s: not kept: %v %v", name, dp.Metrics, dp.Probes)
		}
	}
}
