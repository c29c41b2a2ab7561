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

// Material of a MeshExternalService may have each form that Kuma's documents have; where it stands elsewhere a
// warning says that weft does not read it there.
func TestSourcesOfMaterialAreRead(t *testing.T) {
	t.Parallel()
	for source, said := range map[string]string{
		"{inlineString: PEM}": "",
		"{inline: UEVN}":      "",
		"{type: InsecureInline, insecureInline: {value: PEM}}": "",
		"{secret: ca}": "caCert.secret: ",
		"{type: Secret, secretRef: {kind: Secret, name: ca}}":       "caCert.secretRef: ",
		"{type: File, file: {path: /etc/ca.pem}}":                   "caCert.file: ",
		"{type: EnvVar, envVar: {name: CA}}":                        "caCert.envVar: ",
		"{type: Secret, insecureInline: {value: PEM}}":              "!caCert: type and the block",
		"{insecureInline: {value: PEM}}":                            "!caCert: type and the block",
		"{inline: UEVN, insecureInline: {value: PEM}}":              "!caCert: needs exactly one",
		"{type: InsecureInline, insecureInline: {value: (hidden)}}": "!caCert: (hidden) stands for",
	} {
		text := "type: MeshExternalService\nmesh: m\nname: a\nspec: {match: {type: HostnameGenerator, port: 443}, endpoints: [{address: a.example, port: 443}], tls: {enabled: true, verification: {caCert: " + source + "}}}\n"
		_, err := decode.Objects(world.Catalog(), "", []byte(text))
		found := api.Violations(err)
		if said == "" {
			if len(found) != 0 {
				t.Errorf("%s: %v", source, err)
			}
			continue
		}
		words, refused := strings.CutPrefix(said, "!")
		if len(found) != 1 || !strings.Contains(found[0].Error(), words) || (found[0].Severity == api.Error) != refused {
			t.Errorf("%s: %v", source, err)
		}
	}
}
