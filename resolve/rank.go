package resolve

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// rank is an object's, or one of its items', place in the order of spec/kuma.md
// 4.3: a greater rank overrides a lesser one.
type rank struct {
	written                                        int // key 0: what weft made with the mesh is weakest
	topKind, topForm, origin, role, toKind, toForm int
	name                                           string
	ref                                            api.Ref // only so that no two objects are equal
	index                                          int
}

// kindOrder is key 1, and for an item's target key 6. Routes of all dialects are
// as specific as MeshHTTPRoute.
var kindOrder = map[string]int{
	api.KindMesh: 1, api.KindDataplane: 2, api.KindMeshSubset: 3, api.KindMeshGateway: 4, api.KindMeshService: 5,
	api.KindMeshExternalService: 6, api.KindMeshMultiZoneService: 7, api.KindMeshServiceSubset: 8,
	api.KindMeshHTTPRoute: 9, "HTTPRoute": 9, "GRPCRoute": 9, "HTTPProxy": 9, "RouteGroup": 9,
}

var (
	originOrder = map[string]int{"global": 1, "": 2, "zone": 3}
	roleOrder   = map[string]int{api.RoleSystem: 1, api.RoleProducer: 2, api.RoleConsumer: 3, api.RoleWorkloadOwner: 4}
)

func rankOf(o *api.Object, top api.TargetRef, role string) rank {
	r := rank{
		written: btoi(!o.IsDefault()), topKind: kindOrder[top.Kind], origin: originOrder[o.Labels[api.LabelOrigin]],
		role: roleOrder[role], name: o.DisplayName(), ref: o.Ref,
	}
	if top.Kind == api.KindDataplane {
		r.topForm = btoi(top.Name != "")*2 + btoi(top.SectionName != "")
	}
	return r
}

// of is the rank of item index, which targets to.
func (r rank) of(to api.TargetRef, index int) rank {
	r.toKind, r.toForm, r.index = kindOrder[to.Kind], btoi(to.SectionName != ""), index
	return r
}

// compare is negative where b overrides a. It is a total order of items.
func (r rank) compare(o rank) int {
	return cmp.Or(
		cmp.Compare(r.written, o.written),
		cmp.Compare(r.topKind, o.topKind),
		cmp.Compare(r.topForm, o.topForm),
		cmp.Compare(r.origin, o.origin),
		cmp.Compare(r.role, o.role),
		cmp.Compare(r.toKind, o.toKind),
		cmp.Compare(r.toForm, o.toForm),
		cmp.Compare(o.name, r.name), // of aaa and bbb, aaa comes last and wins
		o.ref.Compare(r.ref),
		cmp.Compare(r.index, o.index),
	)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// localOf is how the home of an object narrows its selector (spec/kuma.md 4.1).
func localOf(o *api.Object, role string) matcher.Local {
	var l matcher.Local
	if o.Labels[api.LabelOrigin] == "zone" && role != api.RoleProducer {
		l.Zone = o.Labels[api.LabelZone]
	}
	if role == api.RoleConsumer || role == api.RoleWorkloadOwner {
		l.Namespace = o.HomeNamespace()
	}
	return l
}
