package gateway_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
)

// TestEveryWorldIsServed: whatever stands beside each other, every dataplane has a
// configuration that Envoy takes, an explanation, and an answer to who comes to a port.
func TestEveryWorldIsServed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		snapshot := snapshot.New(0)
		for step := range rapid.IntRange(3, 8).Draw(t, "steps") {
			snapshot = snapshot.With(uint64(step+1), changes(t, snapshot))
		}
		model, _ := resolve.Compile(snapshot, world.Dialects(), world.Kinds())
		for r := range model.Dataplanes("") {
			renderer := xds.NewRenderer(world.Kinds())
			for _, n := range append(renderer.Render(r).Notes, renderer.Notes(r)...) {
				if n.Code == "Rejected" {
					t.Fatalf("%s: %+v", r.Ref, n)
				}
			}
			if _, err := explain.Of(model.Reader(nil), r.Ref, ""); err != nil {
				t.Fatal(err)
			}
			for _, e := range r.Edges {
				for _, url := range []string{"http://a.example.org:%d/", "https://a.example.org:%d/", "https://x.a.example.org:%d/", "tcp://a.example.org:%d"} {
					v, err := sim.Run(model, r.Ref, wire.Request{URL: fmt.Sprintf(url, e.Port)})
					if err == nil && len(v.Branches) == 0 {
						t.Fatalf("%s %s: no answer", r.Ref, fmt.Sprintf(url, e.Port))
					}
				}
			}
		}
		failed(t, model)
	})
}

// failed wants that no bug kept anything from being known.
func failed(t *rapid.T, model *resolve.Model) {
	for r := range model.Dataplanes("") {
		if r.Failed != "" {
			t.Fatalf("%s: %s", r.Ref, r.Failed)
		}
	}
}
