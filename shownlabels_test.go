package weft_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestSelectorsSeeWhatReadersSee: a policy that asks for all labels that GET
// shows of an object selects the object, computed labels among them
// (spec/kuma.md 1.2). Nothing is said to be missing.
func TestSelectorsSeeWhatReadersSee(t *testing.T) {
	t.Parallel()
	catalog := world.Catalog().InZone(api.Zone{Name: "east"})
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t, catalog)
		for o := range s.All() {
			labels, err := json.Marshal(catalog.Shown(o).Labels)
			if err != nil {
				t.Fatal(err)
			}
			var spec string
			switch o.Kind {
			case api.KindDataplane:
				spec = `{"targetRef":{"kind":"Dataplane","labels":%s},"to":[{"targetRef":{"kind":"Mesh"},"default":{"idleTimeout":"9s"}}]}`
			case api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService:
				spec = `{"to":[{"targetRef":{"kind":"` + o.Kind + `","labels":%s},"default":{"idleTimeout":"9s"}}]}`
			default:
				if typ, _ := catalog.Type(o.Kind); !typ.Attach {
					continue
				}
				spec = `{"targetRef":{"kind":"` + o.Kind + `","labels":%s},"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"requestTimeout":"9s"}}}]}`
			}
			p := worlds.Decode(t, catalog, fmt.Sprintf(`{"type":"MeshTimeout","mesh":%q,"name":"asks","spec":`+spec+`}`, o.Mesh, labels))
			_, notes := resolve.CompileIn(api.Zone{Name: "east"}, s.With(99, []snapshot.Change{{After: p}}), world.Dialects(), world.Kinds())
			for _, n := range notes {
				if n.Origin.Ref == p.Ref && (n.Code == "TargetNotFound" || n.Code == "SelectsNothing") {
					t.Fatalf("%s shows %s, by which it is not found: %s %s", o.Ref, labels, n.Code, n.Message)
				}
			}
		}
	})
}
