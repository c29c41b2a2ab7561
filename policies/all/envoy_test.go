package all_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/xds"
)

// anyMerged is what two random documents of each kind become.
var anyMerged = rapid.Custom(func(t *rapid.T) []policies.Conf {
	var confs []policies.Conf
	for _, k := range all.Kinds {
		layers := []merge.Layer{layer(k, "a", policytest.AnyConf(t, k)), layer(k, "b", policytest.AnyConf(t, k))}
		if e := k.Resolve(layers); e != nil {
			confs = append(confs, e.Conf)
		}
	}
	return confs
})

// TestEnvoyTakesWhatIsMerged asks a real Envoy, which checks more than the
// generated validation of its messages does.
func TestEnvoyTakesWhatIsMerged(t *testing.T) {
	t.Parallel()
	const each = 90
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			var written []policytest.Written
			for i := range each {
				place := xds.Place{Protocol: protocols[i%len(protocols)], Inbound: i%3 == 0}
				written = append(written, policytest.Write(place, anyMerged.Example(round*each+i)...))
			}
			check := func(w ...policytest.Written) error {
				return envoytest.Validate(t, policytest.Bootstrap(t, envoytest.Socket(t), "127.0.0.1", 1, all.Kinds, w...))
			}
			if check(written...) == nil {
				return
			}
			for i, w := range written { // find the one
				if err := check(w); err != nil {
					t.Fatalf("conf %d: %v\nroute %s", i, err, protojson.Format(w.Route))
				}
			}
			t.Fatal("each is accepted, all together are not")
		})
	}
}
