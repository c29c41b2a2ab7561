package resolve

import (
	"maps"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
)

// A change of a service is none of the services across zones that do not gather
// it, neither before nor after.
func TestAServiceConcernsThoseAcrossZonesThatGatherIt(t *testing.T) {
	t.Parallel()
	across := func(name, app string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: api.KindMeshMultiZoneService, Mesh: "default", Name: name}, Spec: &api.MeshMultiZoneService{
			Selector: &api.MultiZoneSelector{MeshService: &api.LabelSelector{MatchLabels: map[string]string{"app": app}}}, Ports: []api.ServicePort{{Port: 80}}}}
	}
	service := func(app string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: api.KindMeshService, Mesh: "default", Name: "s"}, Labels: map[string]string{"app": app}, Spec: &api.MeshService{}}
	}
	was, is := service("a"), service("b")
	s := api.NewSnapshot(1, across("of-a", "a"), across("of-b", "b"), across("of-c", "c"), was)
	m, _ := Compile(s, nil, nil)
	before, _ := m.meshes.Get([]byte("default"))
	next := &Model{snapshot: s.With(2, []api.Change{{Before: was, After: is}}), meshes: m.meshes}
	u := newUpdater(next, before, "default")
	u.run([]api.Change{{Before: was, After: is}})
	want := []string{objectKey(across("of-a", "").Ref), objectKey(across("of-b", "").Ref), objectKey(was.Ref)}
	if got := slices.Sorted(maps.Keys(u.services)); !slices.Equal(got, want) {
		t.Errorf("looked at %v, want %v", got, want)
	}
}
