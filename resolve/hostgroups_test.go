package resolve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// hostDialect is a language whose objects serve a host by their own name.
func hostDialect() route.Dialect {
	return route.Dialect{
		Name: "Hosts", Types: []api.Type{{Name: "HostRoute"}},
		Read: func(o *api.Object, _ route.Lister) *route.ParsedRoute {
			return &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}, Entries: []route.Entry{{
				To: route.HostRef(o.Name, 80), Rules: []route.Rule{{Origin: &api.Origin{Ref: o.Ref}}},
			}}}
		},
		Compose: func(route.Frontend, []route.Candidate) route.Composition {
			return route.Composition{Default: &route.MergedRule{Do: &route.Respond{Status: 404}}}
		},
	}
}

// What dataplanes with redirection reach of hosts is found out once for all that reach
// the same: another host is looked at for none of them, and they hold the same values.
func TestAnotherHostIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	const planes = 20
	host := func(name string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: "HostRoute", Mesh: "default", Name: name}}
	}
	objects := []*api.Object{host("a.example"), host("c.example")}
	for i := range planes {
		objects = append(objects, &api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: fmt.Sprint("p", i)}, Spec: &api.Dataplane{
			Networking: &api.Networking{Address: fmt.Sprint("127.0.0.", i+1), TransparentProxying: &api.TransparentProxying{}}}})
	}
	m, _ := Compile(snapshot.New(1, objects...), []route.Dialect{hostDialect()}, nil)
	x, _ := m.mesh("default")
	added := host("b.example")
	after, delta := x.At.(*derive.Graph).Update(m.all.RouteObjects.Put(index.ObjectKey(added.Ref), added))
	ran := []int{m.all.Calls.Ran(delta), m.all.HostGroups.Ran(delta), m.all.ClusterRefs.Ran(delta), m.all.HostsOfGroups.Ran(delta), m.all.GroupOutbounds.Ran(delta), m.all.Resolved.Ran(delta)}
	if want := []int{0, 0, 0, 1, 1, planes}; !slices.Equal(ran, want) {
		t.Errorf("calls, groups, uses, hosts of groups, outbounds of groups and dataplanes ran %v times, want %v", ran, want)
	}
	var first []*effective.Outbound
	for r := range m.all.Resolved.Values(after) {
		if first == nil {
			first = r.Outbounds
		}
		if len(r.Outbounds) != 3 || !slices.Equal(r.Outbounds, first) {
			t.Errorf("%s has %d outbounds of its own", r.Ref, len(r.Outbounds))
		}
	}
	before, _ := m.Dataplane(objects[2].Ref)
	if !slices.Contains(first, before.Outbounds[0]) || !slices.Contains(first, before.Outbounds[1]) {
		t.Error("the outbounds to the hosts that stay are made anew")
	}
}
