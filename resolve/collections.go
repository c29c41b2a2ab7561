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

// indexStage is the documents of a mesh as they are read: what is written, what each document
// means, and by which names others refer to it. It is the first stage; each later one reads
// earlier ones only, and package derive records what it read: that is all that an update goes
// by. There is one for all meshes and for all models that were made from one another.
type indexStage struct {
	dialects []route.Dialect
	kinds    []*policies.Kind
	in       api.Zone
	zone     map[string]string // labels that the control plane computes
	schema   *derive.Schema

	// What is written, by objectKey.
	meshObjects, policyObjects, routeObjects, serviceObjects, planeObjects, otherObjects *derive.Collection[api.Object]
	objectsByKind                                                                        map[*derive.Collection[api.Object]]*derive.Index[api.Object]
	generatorObjects                                                                     *derive.Collection[api.Object]           // those of all meshes
	insights                                                                             *derive.Collection[api.DataplaneInsight] // what is known at run time, by dataplane

	// What it means.
	modes      *derive.Collection[string]
	tenancies  *derive.Collection[api.Tenancy]
	policies   *derive.Collection[policy]
	routes     *derive.Collection[routeObject]
	services   *derive.Collection[service]
	dataplanes *derive.Collection[dataplane]
	secrets    *derive.Collection[secretKept] // for TLS

	policiesByRoute, policiesByTarget, policiesBySelector, policiesByKind   *derive.Index[policy]
	routesByName, routesByTarget, routesByHost, routesByRead, routesByEdges *derive.Index[routeObject]
	routesByAddress                                                         *derive.Index[routeObject]
	servicesByID, servicesByTarget, servicesByHostname                      *derive.Index[service]
	dataplanesByLabel, dataplanesByClassic, dataplanesByAddress             *derive.Index[dataplane]
	dataplanesListing                                                       *derive.Index[dataplane] // by the classic ids of what they call
}

// indexMesh is the documents of one mesh as a derivation or a question sees them.
type indexMesh struct {
	*indexStage
	at derive.At
}

func (s *indexStage) derived(at derive.At) indexMesh { return indexMesh{s, at} }

// newIndex adds the first stage to a new schema.
func newIndex(dialects []route.Dialect, kinds []*policies.Kind, in api.Zone) *indexStage {
	s := &indexStage{dialects: dialects, kinds: kinds, in: in, zone: in.Labels(), schema: &derive.Schema{}}
	s.addObjects()
	s.addTenancy()
	s.addSecrets()
	s.addMeanings()
	s.addIndexes()
	return s
}

// identityStage is who dataplanes are, and how they take mutual TLS: keyed as the dataplanes, but
// for what is said of a whole mesh.
type identityStage struct {
	below         indexMesh
	guards        *derive.Collection[guard]
	guarded       *derive.Collection[bool]
	domains       *derive.Collection[effective.TrustDomain]
	tlsKind       int // of the kind whose conf is a TLSConf, -1 for none
	tlsParameters *derive.Collection[effective.TLSParameters]
	tlsSettings   *derive.Collection[tlsSettings]
	secured       *derive.Collection[secured]
	revocations   *derive.Index[policy] // see revoked.go

	// What policies say of the inbounds of each dataplane, and what those say together whose confs
	// add up, by kind and by the policies.
	saidSets  *derive.Collection[saidSets]
	bySaidSet *derive.Group[saidSets]
}

// hostnamesStage is the names that generators make of services, by objectKey of the service, and
// who is given which virtual address: by objectKey, and by block of addresses.
type hostnamesStage struct {
	below              identityMesh
	generators         *derive.Collection[generator]
	namings            *derive.Collection[naming]
	namingsByName      *derive.Index[naming]
	namingsByGenerator *derive.Index[naming]
	servicesByVIP      *derive.Index[service]
	vipRequests        *derive.Collection[vips.Request]
	vipsGiven          rounds
	// The same of classic services, by id.
	classicRequests *derive.Collection[vips.Request]
	classicGiven    rounds
}

// servicesStage is what can be called, by destination id, and who answers for it.
type servicesStage struct {
	below       hostnamesMesh
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
}

// routingStage is what routes and policies say about each destination, and the selectors that tell
// its classes of dataplanes apart.
type routingStage struct {
	below     servicesMesh
	routing   *derive.Collection[routing]
	subjects  *derive.Collection[subjects]
	selectors *derive.Collection[selectors]
}

// reachabilityStage is what each dataplane calls, and as a part of which class.
type reachabilityStage struct {
	below    routingMesh
	byReach  *derive.Group[dataplane]
	reached  *derive.Collection[calls]
	calls    *derive.Collection[calls]
	called   *derive.Collection[called]
	byClass  *derive.Group[called]
	anyClass derive.Keys // those of groups for hosts too

	// What those whose traffic is redirected reach of the hosts at a port, by group.
	hostSelectors *derive.Collection[selectors]
	hostGroups    *derive.Collection[hostGroups]
	byGroup       *derive.Group[hostGroups]
	grouped       *derive.Collection[hostGroup]
	groupsByClass *derive.Group[hostGroup]

	// Whose workloads may call by the same names: a key for each dataplane.
	hostnamesKeys    *derive.Collection[string]
	hostnamesCallers *derive.Index[string] // all of them, under anyTarget
	destsAddressed   *derive.Collection[addressed]
}

// tablesStage is what a class of dataplanes has of a destination, by class key.
type tablesStage struct {
	below          reachabilityMesh
	classes        *derive.Collection[class]
	composed       *derive.Collection[composition]
	said           *derive.Collection[said]
	routed         *derive.Collection[routed]
	named          *derive.Collection[named]
	groupOutbounds *derive.Collection[groupOutbounds]
	groupNamed     *derive.Collection[named]
}

// authorizationStage is what policies about who may call come to, at inbounds and at routes.
type authorizationStage struct {
	below           tablesMesh
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
}

// dataplanesStage is what each dataplane holds by all that.
type dataplanesStage struct {
	below     authorizationMesh
	used      *derive.Collection[used]
	byCluster *derive.Group[used]
	// byConnections are the clusters of byCluster by those that send connections alone to them.
	byConnections *derive.Group[used]
	clusters      *derive.Collection[clusterKept]
	endpoints     *derive.Collection[endpointsKept]
	trusts        *derive.Collection[trustKept]
	inbounds      *derive.Collection[inbounds]
	inboundsIn    *derive.Index[inbounds] // where the mesh proves who calls: see Inbound.is
	listened      *derive.Collection[listened]
	held          *derive.Collection[held]
	resolved      *derive.Collection[effective.Resolved]
}

// identityMesh is one mesh at this stage.
type identityMesh struct {
	indexMesh
	*identityStage
}

func (s *identityStage) derived(at derive.At) identityMesh {
	return identityMesh{s.below.derived(at), s}
}

// hostnamesMesh is one mesh at this stage.
type hostnamesMesh struct {
	identityMesh
	*hostnamesStage
}

func (s *hostnamesStage) derived(at derive.At) hostnamesMesh {
	return hostnamesMesh{s.below.derived(at), s}
}

// servicesMesh is one mesh at this stage.
type servicesMesh struct {
	hostnamesMesh
	*servicesStage
}

func (s *servicesStage) derived(at derive.At) servicesMesh {
	return servicesMesh{s.below.derived(at), s}
}

// routingMesh is one mesh at this stage.
type routingMesh struct {
	servicesMesh
	*routingStage
}

func (s *routingStage) derived(at derive.At) routingMesh { return routingMesh{s.below.derived(at), s} }

// reachabilityMesh is one mesh at this stage.
type reachabilityMesh struct {
	routingMesh
	*reachabilityStage
}

func (s *reachabilityStage) derived(at derive.At) reachabilityMesh {
	return reachabilityMesh{s.below.derived(at), s}
}

// tablesMesh is one mesh at this stage.
type tablesMesh struct {
	reachabilityMesh
	*tablesStage
}

func (s *tablesStage) derived(at derive.At) tablesMesh { return tablesMesh{s.below.derived(at), s} }

// authorizationMesh is one mesh at this stage.
type authorizationMesh struct {
	tablesMesh
	*authorizationStage
}

func (s *authorizationStage) derived(at derive.At) authorizationMesh {
	return authorizationMesh{s.below.derived(at), s}
}

// dataplanesMesh is one mesh at this stage.
type dataplanesMesh struct {
	authorizationMesh
	*dataplanesStage
}

func (s *dataplanesStage) derived(at derive.At) dataplanesMesh {
	return dataplanesMesh{s.below.derived(at), s}
}

func newIdentity(below indexMesh) identityMesh {
	s := &identityStage{below: below}
	s.addSaidSets()
	s.addIdentities()
	return s.derived(nil)
}

func newHostnames(below identityMesh) hostnamesMesh {
	s := &hostnamesStage{below: below}
	s.addGenerators()
	s.addVIPs()
	return s.derived(nil)
}

func newServices(below hostnamesMesh) servicesMesh {
	s := &servicesStage{below: below}
	s.addDestinations()
	return s.derived(nil)
}

func newRouting(below servicesMesh) routingMesh {
	s := &routingStage{below: below}
	s.addSubjects()
	return s.derived(nil)
}

func newReachability(below routingMesh) reachabilityMesh {
	s := &reachabilityStage{below: below}
	s.addCalls()
	s.addHostGroups()
	s.addHostnames()
	return s.derived(nil)
}

func newTables(below reachabilityMesh) tablesMesh {
	s := &tablesStage{below: below}
	s.addClasses()
	s.addTables()
	return s.derived(nil)
}

func newAuthorization(below tablesMesh) authorizationMesh {
	s := &authorizationStage{below: below}
	s.addTogether()
	s.addJudged()
	return s.derived(nil)
}

func newDataplanes(below authorizationMesh) dataplanesMesh {
	s := &dataplanesStage{below: below}
	s.addHoldings()
	return s.derived(nil)
}

// collections is how a mesh follows from its documents.
type collections struct {
	all   dataplanesMesh
	stage *pods.Stage // before all meshes
}

func newCollections(dialects []route.Dialect, kinds []*policies.Kind, in api.Zone) *collections {
	index := newIndex(dialects, kinds, in).derived(nil)
	tables := newTables(newReachability(newRouting(newServices(newHostnames(newIdentity(index))))))
	return &collections{all: newDataplanes(newAuthorization(tables)), stage: pods.NewStage(index.zone[api.LabelZone], in.UnselectingLabels()...)}
}

// written is the source that documents of a kind belong to. Of kinds that take no
// part themselves a dialect may ask.
func (c *indexStage) written(kind string) *derive.Collection[api.Object] {
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
func (c *indexStage) attachable(kind string) bool {
	source := c.written(kind)
	return source == c.policyObjects || source == c.routeObjects
}

// IsAttachable reports whether the documents of a kind are policies or routes.
func (m *Model) IsAttachable(kind string) bool { return m.all.attachable(kind) }

// need is a value that something is derived from. Where it failed, so does what
// would be derived.
func need[T any](c *derive.Collection[T], at derive.At, key string) *T {
	v, failed := c.Get(at, key)
	if failed != nil {
		panic(failed)
	}
	return v
}
