package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/resolve/vips"
	"github.com/weftmesh/weft/route"
)

// collections is how a mesh follows from its documents. Each stage reads earlier
// ones only, and package derive takes down what it read: that is all that an
// update goes by. There is one for all meshes and for all models that were made
// from one another.
type collections struct {
	dialects []route.Dialect
	kinds    []*policies.Kind
	in       api.Zone
	zone     map[string]string // labels that the control plane computes
	schema   *derive.Schema
	stage    *pods.Stage // before all meshes

	// What is written, by objectKey.
	meshObjects, policyObjects, routeObjects, serviceObjects, planeObjects, otherObjects *derive.Collection[api.Object]
	objectsByKind                                                                        map[*derive.Collection[api.Object]]*derive.Index[api.Object]

	// What it means.
	modes      *derive.Collection[string]
	tenancies  *derive.Collection[api.Tenancy]
	policies   *derive.Collection[policy]
	routes     *derive.Collection[routeObject]
	services   *derive.Collection[service]
	dataplanes *derive.Collection[dataplane]
	secrets    *derive.Collection[secretKept] // for TLS

	// Who dataplanes are, and how they take mutual TLS: keyed as the dataplanes, but for what is
	// said of a whole mesh. What is known at run time stands in insights.
	insights      *derive.Collection[api.DataplaneInsight]
	guards        *derive.Collection[guard]
	guarded       *derive.Collection[bool]
	domains       *derive.Collection[effective.TrustDomain]
	trusts        *derive.Collection[trustKept]
	tlsKind       int // of the kind whose conf is a TLSConf, -1 for none
	tlsParameters *derive.Collection[effective.TLSParameters]
	tlsSettings   *derive.Collection[tlsSettings]
	secured       *derive.Collection[secured]

	// What policies say of the inbounds of each dataplane, and what those say together whose confs
	// add up, by kind and by the policies.
	saidSets  *derive.Collection[saidSets]
	bySaidSet *derive.Group[saidSets]
	// And what they say that are attached to routes: see authorization.go.
	guardKind       int // of the policies about who may call, -1 for none
	judging         *derive.Collection[judging]
	byJudgedRoute   *derive.Index[judging]
	judgedRoutes    *derive.Collection[judgedRoute]
	byJudgedDest    *derive.Group[judgedRoute]
	judgedFrontends *derive.Collection[judgedFrontend]
	judgedPlaces    *derive.Collection[judgedPlaces]
	byJudgedPlane   *derive.Index[judgedPlaces]
	byJudgedService *derive.Index[judgedPlaces]
	judgedPlanes    *derive.Collection[judgedPlane]
	togetherAtRules *derive.Collection[saidTogether]

	ownDomains *derive.Collection[string] // in which workloads of the mesh have names
	// Who has a name that is not made of tags.
	securedByName *derive.Index[secured]
	planesNamed   *derive.Collection[planesNamed]
	together      *derive.Collection[saidTogether]

	revocations                                                             *derive.Index[policy] // see revoked.go
	policiesByRoute, policiesByTarget, policiesBySelector, policiesByKind   *derive.Index[policy]
	routesByName, routesByTarget, routesByHost, routesByRead, routesByEdges *derive.Index[routeObject]
	routesByAddress                                                         *derive.Index[routeObject]
	dataplanesListing                                                       *derive.Index[dataplane] // by the classic ids of what they call
	servicesByID, servicesByVIP, servicesByHostname, servicesByTarget       *derive.Index[service]
	dataplanesByLabel, dataplanesByClassic, dataplanesByAddress             *derive.Index[dataplane]

	// Who is given which virtual address: by objectKey, and by block of addresses.
	vipRequests *derive.Collection[vips.Request]
	vipsGiven   rounds
	// The same of classic services, by id.
	classicRequests *derive.Collection[vips.Request]
	classicGiven    rounds

	// The names that generators make of services, by objectKey of the service.
	generatorObjects   *derive.Collection[api.Object] // those of all meshes
	generators         *derive.Collection[generator]
	namings            *derive.Collection[naming]
	namingsByName      *derive.Index[naming]
	namingsByGenerator *derive.Index[naming]

	// Whose workloads may call by the same names: a key for each dataplane.
	hostnamesKeys    *derive.Collection[string]
	hostnamesCallers *derive.Index[string] // all of them, under anyTarget
	destsAddressed   *derive.Collection[addressed]

	// What can be called, by destination id.
	dests       *derive.Collection[dest]
	destsByName *derive.Index[dest]
	// destsByAbove finds hosts by those that stand for all hosts below a name.
	destsByAbove *derive.Index[dest]
	destsVirtual *derive.Index[dest] // those with virtual addresses, under anyTarget
	// destsByHostname finds those by what they are called, as far as the mesh names them.
	destsByHostname *derive.Index[dest]
	destsApart      *derive.Index[dest] // of those the ones that not everybody reaches alike
	members         *derive.Collection[members]
	membersIdle     *derive.Index[members] // of destinations for which nobody answers, under anyTarget

	// What is said about it, and what tells its classes of dataplanes apart.
	routing   *derive.Collection[routing]
	subjects  *derive.Collection[subjects]
	selectors *derive.Collection[selectors]

	// What each dataplane calls, and as a part of which class.
	byReach  *derive.Group[dataplane]
	reached  *derive.Collection[calls]
	calls    *derive.Collection[calls]
	called   *derive.Collection[called]
	byClass  *derive.Group[called]
	anyClass derive.Keys // those of groups for hosts too
	classes  *derive.Collection[class]
	composed *derive.Collection[composition]

	// What those whose traffic is redirected reach of the hosts at a port, by group.
	hostSelectors  *derive.Collection[selectors]
	hostGroups     *derive.Collection[hostGroups]
	byGroup        *derive.Group[hostGroups]
	grouped        *derive.Collection[hostGroup]
	groupsByClass  *derive.Group[hostGroup]
	groupOutbounds *derive.Collection[groupOutbounds]
	listened       *derive.Collection[listened]
	groupNamed     *derive.Collection[named]

	// What a class has of a destination, by class key.
	said   *derive.Collection[said]
	routed *derive.Collection[routed]
	named  *derive.Collection[named]

	// What each dataplane holds by that.
	used      *derive.Collection[used]
	byCluster *derive.Group[used]
	// byConnections are the clusters of byCluster by those that send connections alone to them.
	byConnections *derive.Group[used]
	clusters      *derive.Collection[clusterKept]
	endpoints     *derive.Collection[endpointsKept]
	inbounds      *derive.Collection[inbounds]
	inboundsIn    *derive.Index[inbounds] // where the mesh proves who calls: see Inbound.is
	held          *derive.Collection[held]
	resolved      *derive.Collection[effective.Resolved]
}

func newCollections(dialects []route.Dialect, kinds []*policies.Kind, in api.Zone) *collections {
	zone := in.Labels()
	c := &collections{dialects: dialects, kinds: kinds, in: in, zone: zone, schema: &derive.Schema{}, stage: pods.NewStage(zone[api.LabelZone], in.UnselectingLabels()...)}
	c.addObjects()
	c.addTenancy()
	c.addSecrets()
	c.addMeanings()
	c.addIndexes()
	c.addSaidSets()
	c.addIdentities()
	c.addTogether()
	c.addVIPs()
	c.addGenerators()
	c.addDestinations()
	c.addSubjects()
	c.addClasses()
	c.addTables()
	c.addJudged()
	c.addHoldings()
	c.addHostnames()
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
	case api.KindHostnameGenerator:
		return c.generatorObjects
	case api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService, api.KindService:
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

// attachable reports whether documents of a kind are policies or routes.
func (c *collections) attachable(kind string) bool {
	source := c.written(kind)
	return source == c.policyObjects || source == c.routeObjects
}

// IsAttachable reports whether the documents of a kind are policies or routes.
func (m *Model) IsAttachable(kind string) bool { return m.attachable(kind) }

// need is a value that something is derived from. Where it failed, so does what
// would be derived.
func need[T any](c *derive.Collection[T], at derive.At, key string) *T {
	v, failed := c.Get(at, key)
	if failed != nil {
		panic(failed)
	}
	return v
}
