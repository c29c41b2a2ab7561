package resolve

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
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
	s := snapshot.New(1, across("of-a", "a"), across("of-b", "b"), across("of-c", "c"), was)
	m, _ := Compile(s, nil, nil)
	x, _ := m.mesh("default")
	_, delta := x.At.(*derive.Graph).Update(m.all.ServiceObjects.Put(index.ObjectKey(is.Ref), is))
	if got := m.all.Members.Ran(delta); got != 2 {
		t.Errorf("%d services were looked at for their members, want of-a and of-b", got)
	}
}
