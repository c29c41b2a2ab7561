package admission

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

var types = api.NewCatalog(api.Types()...).InZone(api.Zone{Name: "east"})

func service(t *testing.T, labels, status string) *api.Object {
	t.Helper()
	text := "type: MeshService\nmesh: default\nname: a\n" + labels + "spec: {ports: [{port: 80}]}\n" + status
	objects, err := decode.Objects(types, "", []byte(text))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	return objects[0]
}

// What weft shows is not stored when it comes back, unless it was written.
func TestComputedLabelsAreNotStored(t *testing.T) {
	t.Parallel()
	const shown = "labels: {kuma.io/origin: zone, kuma.io/zone: east, kuma.io/env: universal, kuma.io/display-name: a, team: x}\n"
	o, _ := stored(types, nil, service(t, shown, ""))
	if len(o.Labels) != 1 || o.Labels["team"] != "x" || !o.Adjusted {
		t.Errorf("stored with %v", o.Labels)
	}
	for _, own := range []string{"labels: {kuma.io/display-name: b}\n", "labels: {kuma.io/origin: global}\n", "labels: {kuma.io/zone: west}\n"} {
		if o, _ := stored(types, nil, service(t, own, "")); len(o.Labels) != 1 || o.Adjusted {
			t.Errorf("%s is stored as %v", own, o.Labels)
		}
	}
	before := service(t, "labels: {kuma.io/origin: zone}\n", "")
	if o, _ := stored(types, before, service(t, shown, "")); o.Labels["kuma.io/origin"] != "zone" || len(o.Labels) != 2 {
		t.Errorf("what was written before became %v", o.Labels)
	}
}

// Whoever reads an object as the API shows it and writes that back changes nothing.
func TestWritingBackWhatIsShownChangesNothing(t *testing.T) {
	t.Parallel()
	for _, labels := range []string{"", "labels: {team: x}\n", "labels: {kuma.io/origin: zone}\n", "labels: {kuma.io/origin: global, kuma.io/zone: west}\n"} {
		before := service(t, labels, "status: {vips: [{ip: 241.0.0.1}]}\n")
		text, err := decode.PrintJSON(types, types.Shown(before))
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode.Objects(types, "", text)
		if api.Refuses(err) {
			t.Fatal(err)
		}
		if o, found := stored(types, before, back[0]); !store.Same(before, o) || len(found) > 0 {
			t.Errorf("%s became %v, %v", labels, o.Labels, found)
		}
	}
}

// The status is the control plane's: a document brings it along once.
func TestAStatusIsNotTakenAwayNorReplaced(t *testing.T) {
	t.Parallel()
	seeded := service(t, "", "status: {vips: [{ip: 241.0.0.1}]}\n")
	vip := func(o *api.Object) string {
		if s, ok := o.Status.(*api.ServiceStatus); ok && len(s.VIPs) > 0 {
			return s.VIPs[0].IP
		}
		return ""
	}
	for name, c := range map[string]struct {
		before, put *api.Object
		want        string
		warns       int
	}{
		"creation":              {nil, seeded, "241.0.0.1", 0},
		"without one":           {seeded, service(t, "", ""), "241.0.0.1", 0},
		"the same":              {seeded, service(t, "", "status: {vips: [{ip: 241.0.0.1}]}\n"), "241.0.0.1", 0},
		"another":               {seeded, service(t, "", "status: {vips: [{ip: 241.0.0.9}]}\n"), "241.0.0.1", 1},
		"the first, afterwards": {service(t, "", ""), seeded, "241.0.0.1", 0},
	} {
		o, found := stored(types, c.before, c.put)
		if got := vip(o); got != c.want || len(found) != c.warns {
			t.Errorf("%s: the status has %q, %v", name, got, found)
		}
	}
}

// A mesh does not go from under documents that stay, and none comes without it.
func TestAdmitKeepsDocumentsAndMeshTogether(t *testing.T) {
	t.Parallel()
	mesh := &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: "default"}, Spec: new(api.Mesh)}
	o := service(t, "", "")
	full, bare := snapshot.New(1, mesh, o), snapshot.New(1, mesh)
	put, drop, end := store.Write{Put: o}, store.Write{Delete: &o.Ref}, store.Write{Delete: &mesh.Ref}
	for name, c := range map[string]struct {
		now      *snapshot.Snapshot
		writes   []store.Write
		admitted int
	}{
		"a mesh with documents":        {full, []store.Write{end}, 0},
		"with all that is in it":       {full, []store.Write{end, drop}, 2},
		"an empty mesh":                {bare, []store.Write{end}, 1},
		"while a document comes":       {bare, []store.Write{end, put}, 1},
		"a document of no mesh":        {snapshot.New(0), []store.Write{put}, 0},
		"a document with its new mesh": {snapshot.New(0), []store.Write{put, {Put: mesh}}, 2},
	} {
		chain := New(Options{Catalog: types, Now: time.Now})
		admitted, wrong := chain.Each(Sidecar, c.now, c.writes)
		if len(admitted) != c.admitted || len(wrong) != len(c.writes)-c.admitted {
			t.Errorf("%s: %d admitted, %v", name, len(admitted), wrong)
		}
	}
}
