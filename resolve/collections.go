package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/dataplanes"
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

// collections is how a mesh follows from its documents.
type collections struct {
	all   dataplanes.Mesh
	stage *pods.Stage // before all meshes
}

func newCollections(dialects []route.Dialect, kinds []*policies.Kind, in api.Zone) *collections {
	index := index.New(dialects, kinds, in).Mesh(nil)
	tables := tables.New(reachability.New(routing.New(services.New(hostnames.New(identity.New(index))))))
	return &collections{all: dataplanes.New(authorization.New(tables)), stage: pods.NewStage(index.ZoneLabels[api.LabelZone], in.UnselectingLabels()...)}
}

// IsAttachable reports whether the documents of a kind are policies or routes.
func (m *Model) IsAttachable(kind string) bool { return m.all.Attachable(kind) }
