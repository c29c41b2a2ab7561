package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sim"
)

// TestWhatIsOutsideIsAnnounced: each thing that Envoy treats by itself is named,
// and an ordinary request has none.
func TestWhatIsOutsideIsAnnounced(t *testing.T) {
	t.Parallel()
	many := sim.Headers{}
	for i := range 101 {
		many.Add(fmt.Sprintf("x-%d", i), "1")
	}
	for want, h := range map[string]sim.Headers{
		"":                         {"x-a": "1", "connection": "x-a", "TE": "trailers, gzip", "content-length": "0", "x-forwarded-proto": "http", "expect": "100-Continue", "transfer-encoding": "gzip"},
		"header content-length:":   {"content-length": "7"},
		"header expect:":           {"Expect": "something"},
		"header te:":               {"te": ""},
		"header x-forwarded-for:":  {"x-forwarded-for": "127.0.0.1", "x-envoy-internal": "true"},
		"header x-forwarded-proto": {"x-forwarded-proto": "https"},
		"header host:":             {"Host": " "},
		"101 headers with":         many,
		"431":                      {"x-a": strings.Repeat("a", 60<<10)},
	} {
		v, err := run(shop(everything(to("v1", 1))), sim.Request{URL: "http://web:8080/", Headers: h})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(v.Unknown) > 0 || want != "" && (len(v.Unknown) != 1 || !strings.Contains(v.Unknown[0], want)) {
			t.Errorf("wanted %q: %q", want, v.Unknown)
		}
	}
}
