package resolve_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestNamesUpdateEqualsCompile is the law of updates for worlds of services that nobody gave
// an address, or several the same.
func TestNamesUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		snapshot := api.NewSnapshot(0)
		model, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot, c.dialects, c.kinds)
		for step := range rapid.IntRange(1, 10).Draw(t, "steps") {
			changes := worlds.ChangesOf(t, snapshot, c.namedDocument)
			snapshot = snapshot.With(uint64(step+1), changes)
			next, affected := model.Update(snapshot, changes)
			clean, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot, c.dialects, c.kinds)
			if diff := cmp.Diff(dump(clean), dump(next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			checkAffected(t, model, next, affected, changes)
			checkVIPs(t, next)
			model = next
		}
	})
}

// namedDocument draws a document that has to do with names and addresses.
func (c *composition) namedDocument(t *rapid.T) *api.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	name := pick("name", "a", "b", "c")
	doc := map[string]any{"mesh": "default", "name": name, "labels": map[string]string{"team": pick("team", "x", "y")}}
	kind := pick("kind", api.KindDataplane, api.KindMeshService, api.KindMeshService, api.KindMeshExternalService)
	doc["type"] = kind
	switch kind {
	case api.KindDataplane:
		doc["networking"] = map[string]any{"address": "127.0.0.2", "transparentProxying": map[string]any{"redirectPortInbound": 15006, "redirectPortOutbound": 15001}}
	case api.KindMeshService:
		doc["spec"] = map[string]any{"selector": map[string]any{"dataplaneTags": map[string]string{"app": "a"}}, "ports": []any{map[string]any{"port": 80, "appProtocol": "http"}}}
	case api.KindMeshExternalService:
		doc["spec"] = map[string]any{"match": map[string]any{"type": "HostnameGenerator", "port": 80, "protocol": "http"}, "endpoints": []any{map[string]any{"address": "192.0.2.1", "port": 80}}}
	}
	if ip := pick("stored", "", "", "241.0.0.1", "241.0.0.2", "10.0.0.1"); ip != "" && kind != api.KindDataplane {
		doc["status"] = map[string]any{"vips": []any{map[string]any{"ip": ip}}}
	}
	out, _ := json.Marshal(doc)
	o := *worlds.Decode(t, c.catalog, string(out))
	o.Created = time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "created")), 0)
	return &o
}

// checkVIPs holds that no virtual address is that of two services, and that each has one.
func checkVIPs(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	by := map[string]api.Ref{}
	for d := range m.Destinations("default") {
		if len(d.VIPs) == 0 && d.Ref.Name != "" {
			t.Fatalf("%s has no virtual address", d.ID)
		}
		for _, ip := range d.VIPs {
			if other, taken := by[ip]; taken && other != d.Ref {
				t.Fatalf("%s is the address of %s and %s", ip, other, d.Ref)
			}
			by[ip] = d.Ref
		}
	}
}

// TestVIPsStay: one more service among many moves nobody's address, nor anything else of them.
func TestVIPsStay(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	var objects []*api.Object
	for i := range 300 {
		objects = append(objects, worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "MeshService", "mesh": "default", "name": "s%d", "spec": {"selector": {"dataplaneTags": {"app": "a"}}, "ports": [{"port": 80}]}}`, i)))
	}
	before := api.NewSnapshot(1, objects[:299]...)
	model, _ := resolve.Compile(before, c.dialects, c.kinds)
	changes := []api.Change{{After: objects[299]}}
	next, _ := model.Update(before.With(2, changes), changes)
	for d := range model.Destinations("default") {
		if now, _ := next.Destination("default", d.ID); now != d {
			t.Errorf("%s was %v and is %v", d.ID, d.VIPs, now.VIPs)
		}
	}
}
