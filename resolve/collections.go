package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/authorization"
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

// dataplanesStage is what each dataplane holds by all that.
type dataplanesStage struct {
	below     authorization.Mesh
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

// dataplanesMesh is one mesh at this stage.
type dataplanesMesh struct {
	authorization.Mesh
	*dataplanesStage
}

// derived is one mesh at this stage, read by at.
func (s *dataplanesStage) derived(at derive.At) dataplanesMesh {
	return dataplanesMesh{s.below.Stage.Mesh(at), s}
}

func newDataplanes(below authorization.Mesh) dataplanesMesh {
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
	return &collections{all: newDataplanes(authorization.New(tables)), stage: pods.NewStage(index.ZoneLabels[api.LabelZone], in.UnselectingLabels()...)}
}

// IsAttachable reports whether the documents of a kind are policies or routes.
func (m *Model) IsAttachable(kind string) bool { return m.all.Attachable(kind) }
