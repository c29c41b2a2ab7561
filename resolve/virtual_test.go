package resolve_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestGeneratorsOfTheZoneComeFirst: what was not written with another origin is of the zone of
// its control plane (spec/kubernetes.md 3.9), and has the first word before older ones of all.
func TestGeneratorsOfTheZoneComeFirst(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	generator := func(name, origin string, created int64) *api.Object {
		o := *worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "HostnameGenerator", "name": %q, "labels": {%s}, "spec": {"selector": {"meshService": {"matchLabels": {"of": %q}}}, "template": "one.example"}}`, name, origin, name))
		o.Created = time.Unix(created, 0)
		return &o
	}
	service := func(name string) *api.Object {
		return worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type": "MeshService", "mesh": "default", "name": %q, "labels": {"of": %q}, "spec": {"selector": {"dataplaneTags": {"app": "a"}}, "ports": [{"port": 80}]}}`, name, name))
	}
	m, _ := resolve.CompileIn(api.Zone{Name: "one"}, snapshot.New(1, service("old"), service("young"), generator("old", `"kuma.io/origin": "global"`, 1), generator("young", "", 2)), c.dialects, c.kinds)
	d, _ := m.Destination("default", "young:80")
	if !slices.Contains(d.Hostnames, "one.example") {
		t.Errorf("young is called %v", d.Hostnames)
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
	before := snapshot.New(1, objects[:299]...)
	model, _ := resolve.Compile(before, c.dialects, c.kinds)
	changes := []snapshot.Change{{After: objects[299]}}
	next, _ := model.Update(before.With(2, changes), changes)
	for d := range model.Destinations("default") {
		if now, _ := next.Destination("default", d.ID); now != d {
			t.Errorf("%s was %v and is %v", d.ID, d.VIPs, now.VIPs)
		}
	}
}
