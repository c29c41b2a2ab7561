package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/route"
)

// collections is how a mesh can be derived from its documents by package derive,
// of the same functions that the model is made of: the next engine, held against
// the present one until it takes its place (docs/decisions.md). Each stage reads
// earlier ones only.
type collections struct {
	tabler
	zone   map[string]string
	schema *derive.Schema

	// What is written, by objectKey.
	meshObjects, policyObjects, routeObjects, serviceObjects, planeObjects, otherObjects *derive.Collection[api.Object]

	// What it means.
	modes      *derive.Collection[string]
	policies   *derive.Collection[policy]
	routes     *derive.Collection[routeObject]
	services   *derive.Collection[service]
	dataplanes *derive.Collection[dataplane]

	policiesByRoute, policiesByTarget, policiesBySelector *derive.Index[policy]
	routesByName, routesByTarget, routesByHost            *derive.Index[routeObject]
	servicesByID                                          *derive.Index[service]
	dataplanesByLabel, dataplanesByClassic                *derive.Index[dataplane]

	// What can be called, by destination id.
	dests       *derive.Collection[dest]
	destsByName *derive.Index[dest]
	members     *derive.Collection[members]
	subjects    *derive.Collection[subjects]
	selectors   *derive.Collection[selectors]

	// What each dataplane calls, and as a part of which class.
	called  *derive.Collection[called]
	classes *derive.Index[called]

	// What a class has of a destination, by class key.
	said   *derive.Collection[said]
	routed *derive.Collection[routed]
	refs   *derive.Collection[refs]

	// What each dataplane holds by that.
	used            *derive.Collection[used]
	usedByCluster   *derive.Index[used]
	usedByEndpoints *derive.Index[used]
	clusters        *derive.Collection[Cluster]
	endpoints       *derive.Collection[Endpoints]
	inbounds        *derive.Collection[ports]
	held            *derive.Collection[held]
	resolved        *derive.Collection[Resolved]
}

func newCollections(dialects []route.Dialect, kinds []*policies.Kind, zone map[string]string) *collections {
	c := &collections{tabler: tabler{kinds: kinds, dialects: dialects}, zone: zone, schema: &derive.Schema{}}
	c.addObjects()
	c.addFacts()
	c.addDestinations()
	c.addClasses()
	c.addDataplanes()
	return c
}

// written is the source that documents of a kind belong to. Of kinds that take no
// part themselves a dialect may ask.
func (c *collections) written(kind string) *derive.Collection[api.Object] {
	switch kind {
	case api.KindMesh:
		return c.meshObjects
	case api.KindDataplane:
		return c.planeObjects
	case api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService:
		return c.serviceObjects
	}
	if slices.ContainsFunc(c.kinds, func(k *policies.Kind) bool { return k.Name == kind }) {
		return c.policyObjects
	}
	if d, _ := kindOf(c.dialects, kind); d != nil {
		return c.routeObjects
	}
	return c.otherObjects
}
