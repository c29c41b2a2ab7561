// Package index is the first stage of a resolved mesh: its documents as they are read, by which
// names, labels and routes others refer to them, and who overrides whom.
package index

import (
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// Stage is the documents of a mesh as they are read: what is written, what each document
// means, and by which names others refer to it. It is the first stage; each later one reads
// earlier ones only, and package derive records what it read: that is all that an update goes
// by. There is one for all meshes and for all models that were made from one another.
type Stage struct {
	Dialects   []route.Dialect
	Kinds      []*policies.Kind
	Zone       api.Zone
	ZoneLabels map[string]string // labels that the control plane computes
	Schema     *derive.Schema

	// What is written, by ObjectKey.
	MeshObjects, PolicyObjects, RouteObjects, ServiceObjects, planeObjects, OtherObjects *derive.Collection[api.Object]
	ObjectsByKind                                                                        map[*derive.Collection[api.Object]]*derive.Index[api.Object]
	GeneratorObjects                                                                     *derive.Collection[api.Object]           // those of all meshes
	Insights                                                                             *derive.Collection[api.DataplaneInsight] // what is known at run time, by dataplane

	// What it means.
	modes       *derive.Collection[string]
	tenancies   *derive.Collection[api.Tenancy]
	telemetries *derive.Collection[api.Telemetry]
	Policies    *derive.Collection[Policy]
	Routes      *derive.Collection[Route]
	Services    *derive.Collection[Service]
	Dataplanes  *derive.Collection[Dataplane]
	Secrets     *derive.Collection[CachedSecret] // for TLS

	PoliciesByRoute, PoliciesByTarget, PoliciesBySelector, PoliciesByKind   *derive.Index[Policy]
	RoutesByName, RoutesByTarget, RoutesByHost, routesByRead, RoutesByEdges *derive.Index[Route]
	RoutesByAddress                                                         *derive.Index[Route]
	ServicesByID, ServicesByTarget, ServicesByHostname                      *derive.Index[Service]
	dataplanesByLabel, DataplanesByClassic, DataplanesByAddress             *derive.Index[Dataplane]
	DataplanesListing                                                       *derive.Index[Dataplane] // by the classic ids of what they call
}

// Mesh is the documents of one mesh as a derivation or a question sees them.
type Mesh struct {
	*Stage
	At derive.At
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh { return Mesh{s, at} }

// Index is the mesh at this stage, for what embeds it.
func (m Mesh) Index() Mesh { return m }

// New adds the first stage to a new schema.
func New(dialects []route.Dialect, kinds []*policies.Kind, in api.Zone) *Stage {
	s := &Stage{Dialects: dialects, Kinds: kinds, Zone: in, ZoneLabels: in.Labels(), Schema: &derive.Schema{}}
	s.addObjects()
	s.addTenancy()
	s.addTelemetry()
	s.addSecrets()
	s.addMeanings()
	s.addIndexes()
	return s
}

// Written is the source that documents of a kind belong to. Of kinds that take no
// part themselves a dialect may ask.
func (c *Stage) Written(kind string) *derive.Collection[api.Object] {
	switch kind {
	case api.KindMesh:
		return c.MeshObjects
	case api.KindDataplane:
		return c.planeObjects
	case api.KindHostnameGenerator:
		return c.GeneratorObjects
	case api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService, api.KindService:
		return c.ServiceObjects
	}
	if slices.ContainsFunc(c.Kinds, func(k *policies.Kind) bool { return k.Name == kind }) {
		return c.PolicyObjects
	}
	if d, _ := KindOf(c.Dialects, kind); d != nil {
		return c.RouteObjects
	}
	return c.OtherObjects
}

// Attachable reports whether documents of a kind are policies or routes.
func (c *Stage) Attachable(kind string) bool {
	source := c.Written(kind)
	return source == c.PolicyObjects || source == c.RouteObjects
}

// Need is a value that something is derived from. Where it failed, so does what
// would be derived.
func Need[T any](c *derive.Collection[T], at derive.At, key string) *T {
	v, failed := c.Get(at, key)
	if failed != nil {
		panic(failed)
	}
	return v
}

// Mode is meshServices.mode.
func (m Mesh) Mode() string {
	for _, mode := range m.modes.All(m.At) {
		return *mode
	}
	return Disabled
}

// Policy and route are objects as they were read; nil where there is none.
func (m Mesh) Policy(ref api.Ref) *Policy {
	p, _ := m.Policies.Get(m.At, ObjectKey(ref))
	return p
}

// Route is a route object as it was read; nil where there is none.
func (m Mesh) Route(ref api.Ref) *Route {
	r, _ := m.Routes.Get(m.At, ObjectKey(ref))
	return r
}

// SelectedRoutes yields the route objects that a ref, written in namespace home, selects.
func (m Mesh) SelectedRoutes(ref *api.TargetRef, home api.Home) iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		for _, r := range m.RoutesByName.In(m.At, routeTarget(*ref)) {
			if matcher.Route(*ref, home, &r.facts) && !yield(r) {
				return
			}
		}
	}
}

// ReadBy yields the route objects at which the dialect of r looked.
func (m Mesh) ReadBy(r *Route) iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		for _, target := range r.Reads {
			if !strings.HasSuffix(target, Any) {
				if o, _ := m.Routes.Get(m.At, target); o != nil && !yield(o) {
					return
				}
				continue
			}
			for _, o := range m.RoutesByName.In(m.At, target) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Readers yields the route objects whose dialect looked at an object.
func (m Mesh) Readers(ref api.Ref) iter.Seq[*Route] {
	return InAny(m.At, m.routesByRead, ObjectKey(ref), AnyOf(ref.Kind))
}

// Carrying yields the dataplanes with a label or tag.
func (m Mesh) Carrying(label string) iter.Seq[*Dataplane] {
	return m.dataplanesByLabel.Values(m.At, label)
}

// OwnerOf finds the object whose destination has the id: the first of those that
// claim it, for display names may give two objects one id.
func (m Mesh) OwnerOf(id string) (*Service, *effective.Destination) {
	for _, s := range m.ServicesByID.In(m.At, id) {
		i := slices.IndexFunc(s.Dests, func(d *effective.Destination) bool { return d.ID == id })
		return s, s.Dests[i]
	}
	return nil, nil
}
