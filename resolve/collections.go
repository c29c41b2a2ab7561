package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/resolve/tables"
	"github.com/weftmesh/weft/route"
)

// authorizationStage is what policies about who may call come to, at inbounds and at routes.
type authorizationStage struct {
	below           tables.Mesh
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
	securedByName *derive.Index[identity.DataplaneTLS]
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

// authorizationMesh is one mesh at this stage.
type authorizationMesh struct {
	tables.Mesh
	*authorizationStage
}

// derived is one mesh at this stage, read by at.
func (s *authorizationStage) derived(at derive.At) authorizationMesh {
	return authorizationMesh{s.below.Stage.Mesh(at), s}
}

// dataplanesMesh is one mesh at this stage.
type dataplanesMesh struct {
	authorizationMesh
	*dataplanesStage
}

// derived is one mesh at this stage, read by at.
func (s *dataplanesStage) derived(at derive.At) dataplanesMesh {
	return dataplanesMesh{s.below.authorizationStage.derived(at), s}
}

func newAuthorization(below tables.Mesh) authorizationMesh {
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
	index := index.New(dialects, kinds, in).Mesh(nil)
	tables := tables.New(reachability.New(routing.New(services.New(hostnames.New(identity.New(index))))))
	return &collections{all: newDataplanes(newAuthorization(tables)), stage: pods.NewStage(index.ZoneLabels[api.LabelZone], in.UnselectingLabels()...)}
}

// IsAttachable reports whether the documents of a kind are policies or routes.
func (m *Model) IsAttachable(kind string) bool { return m.all.Attachable(kind) }
