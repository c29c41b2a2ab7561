package sim_test

import (
	"testing"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// TestWhatTheOnlyBackendGets: where a draw gives one of several backends all requests, what it gets
// after its own filters is what the verdict forwards; an answer forwards nothing.
func TestWhatTheOnlyBackendGets(t *testing.T) {
	t.Parallel()
	only := func(b effective.Backend) effective.Backend {
		b.Filters = []route.Filter{{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "x-only", Value: "1"}}}}}
		return b
	}
	for name, c := range map[string]struct {
		backend effective.Backend
		want    string
	}{"used": {only(to("v1", 1)), "1"}, "without endpoints": {only(to("empty", 1)), ""}} {
		v, err := run(shop(everything(c.backend, to("v2", 1))), wire.Request{URL: "http://web:8080/", Draw: ptr[int64](0)})
		if err != nil {
			t.Fatal(err)
		}
		b := v.Branches[0]
		if len(b.Backends) != 1 || b.Backends[0].Forwarded != nil || (b.Forwarded != nil) != (c.want != "") || b.Forwarded != nil && b.Forwarded.Headers["x-only"] != c.want {
			t.Errorf("%s: %s", name, jsonText(b))
		}
	}
}
