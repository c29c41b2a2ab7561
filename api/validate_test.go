package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// TestMistakesInServices: a MeshService selects its dataplanes in one way, and what it selects by is checked; each of
// its ports has a number and a name of its own.
func TestMistakesInServices(t *testing.T) {
	t.Parallel()
	sayMistakes(t, "MeshService", map[string]string{
		`{selector: {dataplaneLabels: {matchLabels: {app: web}}}, ports: [{port: 80}]}`:                            "",
		`{selector: {dataplaneRef: {name: web-1}}, ports: [{port: 80}]}`:                                           "",
		`{selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80}]}`:                                 "",
		`{selector: {dataplaneLabels: {matchLabels: {"a b": web}}}, ports: [{port: 80}]}`:                          `error spec.selector.dataplaneLabels.matchLabels["a b"]`,
		`{selector: {dataplaneRef: {}}, ports: [{port: 80}]}`:                                                      "error spec.selector.dataplaneRef.name",
		`{selector: {dataplaneTags: {"a b": web}}, ports: [{port: 80}]}`:                                           `error spec.selector.dataplaneTags["a b"]`,
		`{selector: {dataplaneLabels: {matchLabels: {app: web}}, dataplaneTags: {app: web}}, ports: [{port: 80}]}`: "error spec.selector",
		`{selector: {dataplaneLabels: {matchLabels: {app: web}}, dataplaneRef: {name: a}}, ports: [{port: 80}]}`:   "error spec.selector",
		`{selector: {dataplaneRef: {name: a}}, ports: [{port: 80, name: web}, {port: 81, name: web-2}]}`:           "",
		`{selector: {dataplaneRef: {name: a}}, ports: [{port: 80, name: Web}]}`:                                    "error spec.ports[0].name",
		`{selector: {dataplaneRef: {name: a}}, ports: [{port: 80, name: web}, {port: 81, name: web}]}`:             "error spec.ports[1].name",
		`{selector: {dataplaneRef: {name: a}}, ports: [{port: 80}, {port: 80, name: web}]}`:                        "error spec.ports[1].port",
		`{selector: {}, ports: [{port: 80}]}`:                                                                      "warning spec.selector",
		`{ports: [{port: 80}]}`:                                                                                    "warning spec.selector",
	})
}

// TestMistakesInIdentities: a MeshIdentity is refused for whom it selects, for names that are none and for a
// certificate that ends before it can be renewed; one that lives for long is warned of.
func TestMistakesInIdentities(t *testing.T) {
	t.Parallel()
	const all, made = `selector: {dataplane: {matchLabels: {app: web}}}`, `autogenerate: {enabled: true}, insecureAllowSelfSigned: true`
	sayMistakes(t, "MeshIdentity", map[string]string{
		`{` + all + `, provider: {type: Bundled, bundled: {` + made + `}}}`:                                            "",
		`{selector: {}, provider: {type: Bundled, bundled: {` + made + `}}}`:                                           "",
		`{provider: {type: Bundled, bundled: {` + made + `}}}`:                                                         "warning spec.selector",
		`{selector: {dataplane: {matchLabels: {"a b": web}}}, provider: {type: Bundled, bundled: {` + made + `}}}`:     `error spec.selector.dataplane.matchLabels["a b"]`,
		`{` + all + `, provider: {type: Bundled, bundled: {` + made + `, certificateParameters: {expiry: 10m}}}}`:      "",
		`{` + all + `, provider: {type: Bundled, bundled: {` + made + `, certificateParameters: {}}}}`:                 "",
		`{` + all + `, provider: {type: Bundled, bundled: {` + made + `, certificateParameters: {expiry: 9m59s}}}}`:    "error spec.provider.bundled.certificateParameters.expiry",
		`{` + all + `, provider: {type: Bundled, bundled: {` + made + `, certificateParameters: {expiry: 168h}}}}`:     "",
		`{` + all + `, provider: {type: Bundled, bundled: {` + made + `, certificateParameters: {expiry: 168h0m1s}}}}`: "warning spec.provider.bundled.certificateParameters.expiry",
	})
}

// TestDataplanesThatDoNothing: a Dataplane that neither serves nor calls anything is warned of, and no other: one that
// serves, calls, is a gateway or whose traffic is redirected does something.
func TestDataplanesThatDoNothing(t *testing.T) {
	t.Parallel()
	for networking, nothing := range map[string]bool{
		`{address: 127.0.0.1}`:                                                                                 true,
		`{address: 127.0.0.1, inbound: [], outbound: []}`:                                                      true,
		`{address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}]}`:                              false,
		`{address: 127.0.0.1, outbound: [{port: 80, tags: {kuma.io/service: a}}]}`:                             false,
		`{address: 127.0.0.1, gateway: {type: DELEGATED, tags: {kuma.io/service: a}}}`:                         false,
		`{address: 127.0.0.1, transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}}`: false,
		`{address: 127.0.0.1, outbound: [{port: 80, backendRef: {kind: MeshService, name: a, port: 80}}]}`:     false,
	} {
		_, err := decode.Objects(api.NewCatalog(api.Types()...), "f", []byte("type: Dataplane\nmesh: default\nname: a\nnetworking: "+networking+"\n"))
		if api.Refuses(err) {
			t.Errorf("%s: %v", networking, err)
		}
		warned := slices.ContainsFunc(api.Violations(err), func(v *api.Violation) bool { return v.Code == api.CodeNoEffect && v.Field == "networking.inbound" })
		if warned != nothing {
			t.Errorf("%s does something: %v", networking, err)
		}
	}
}

// sayMistakes compares where the specs of documents of a kind are wrong, and how gravely, with what is wanted.
func sayMistakes(t *testing.T, kind string, wanted map[string]string) {
	t.Helper()
	catalog := api.NewCatalog(api.Types()...)
	for spec, want := range wanted {
		_, err := decode.Objects(catalog, "f", []byte(fmt.Sprintf("type: %s\nmesh: default\nname: a\nspec: %s\n", kind, spec)))
		var got []string
		for _, v := range api.Violations(err) {
			got = append(got, fmt.Sprintf("%s %s", v.Severity, v.Field))
		}
		slices.Sort(got)
		if strings.Join(got, "; ") != want {
			t.Errorf("%s has %v, want %s", spec, err, want)
		}
	}
}
