package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// TestMistakesInServices: a MeshService selects its dataplanes in one way, and what it selects by is checked.
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
