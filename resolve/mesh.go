package resolve

import (
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// mesh is one mesh as a question sees it: what it looks at is counted.
type mesh struct {
	dataplanesMesh
	// asked is what other questions found out, as far as it is read only together with at; nil
	// where nothing is kept.
	asked *asked
}

// mode is meshServices.mode.
func (m indexMesh) mode() string {
	for _, mode := range m.modes.All(m.at) {
		return *mode
	}
	return disabled
}

// policy and route are objects as they were read; nil where there is none.
func (m indexMesh) policy(ref api.Ref) *policy {
	p, _ := m.policies.Get(m.at, objectKey(ref))
	return p
}

func (m indexMesh) route(ref api.Ref) *routeObject {
	r, _ := m.routes.Get(m.at, objectKey(ref))
	return r
}

// dest is the destination with that id; nil where there is none.
func (m servicesMesh) dest(id string) *dest {
	d, _ := m.dests.Get(m.at, id)
	return d
}

// answering is who answers for a destination, and subjectsOf what is said about it;
// where that failed, nobody and nothing.
func (m servicesMesh) answering(d *dest) *members {
	if x, _ := m.members.Get(m.at, d.key); x != nil {
		return x
	}
	return &members{}
}

func (m routingMesh) subjectsOf(d *dest) *subjects {
	if s, _ := m.subjects.Get(m.at, d.key); s != nil {
		return s
	}
	return &subjects{routing: &routing{}}
}

// destsNamed yields the destinations that a ref by that name may mean, by id: all
// of them where the name is anyTarget.
func (m servicesMesh) destsNamed(name string) iter.Seq[*dest] {
	if name == anyTarget {
		return m.dests.Values(m.at)
	}
	return m.destsByName.Values(m.at, name)
}

// destsOf yields the destinations that an entry of a route may mean.
func (m servicesMesh) destsOf(e *route.Entry) iter.Seq[*dest] {
	if e.To.Kind == "" {
		return func(func(*dest) bool) {}
	}
	return m.destsNamed(targetName(e.To))
}

// routesAbout yields the route objects that target a destination by one of the
// names or by labels, policiesAbout the policies that do, policiesOn those that
// target a route so; each once.
func (m indexMesh) routesAbout(names ...string) iter.Seq[*routeObject] {
	return inAny(m.at, m.routesByTarget, append(names, anyTarget)...)
}

func (m indexMesh) policiesAbout(names ...string) iter.Seq[*policy] {
	return inAny(m.at, m.policiesByTarget, append(names, anyTarget)...)
}

func (m indexMesh) policiesOn(routes ...string) iter.Seq[*policy] {
	return inAny(m.at, m.policiesByRoute, routes...)
}

// selectedRoutes yields the route objects that a ref, written in namespace home, selects.
func (m indexMesh) selectedRoutes(ref *api.TargetRef, home api.Home) iter.Seq[*routeObject] {
	return func(yield func(*routeObject) bool) {
		for _, r := range m.routesByName.In(m.at, routeTarget(*ref)) {
			if matcher.Route(*ref, home, &r.facts) && !yield(r) {
				return
			}
		}
	}
}

// readBy yields the route objects at which the dialect of r looked.
func (m indexMesh) readBy(r *routeObject) iter.Seq[*routeObject] {
	return func(yield func(*routeObject) bool) {
		for _, target := range r.reads {
			if !strings.HasSuffix(target, anyTarget) {
				if o, _ := m.routes.Get(m.at, target); o != nil && !yield(o) {
					return
				}
				continue
			}
			for _, o := range m.routesByName.In(m.at, target) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// readers yields the route objects whose dialect looked at an object.
func (m indexMesh) readers(ref api.Ref) iter.Seq[*routeObject] {
	return inAny(m.at, m.routesByRead, objectKey(ref), anyOf(ref.Kind))
}

// carrying yields the dataplanes with a label or tag.
func (m indexMesh) carrying(label string) iter.Seq[*dataplane] {
	return m.dataplanesByLabel.Values(m.at, label)
}

// ownerOf finds the object whose destination has the id: the first of those that
// claim it, for display names may give two objects one id.
func (m indexMesh) ownerOf(id string) (*service, *effective.Destination) {
	for _, s := range m.servicesByID.In(m.at, id) {
		i := slices.IndexFunc(s.dests, func(d *effective.Destination) bool { return d.ID == id })
		return s, s.dests[i]
	}
	return nil, nil
}

// inAny yields what is in one of the buckets, each once.
func inAny[T any](at derive.At, i *derive.Index[T], buckets ...string) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		var seen map[*T]bool
		for n, b := range buckets {
			if slices.Contains(buckets[:n], b) {
				continue
			}
			for v := range i.Values(at, b) {
				if seen[v] {
					continue
				}
				if len(buckets) > 1 {
					if seen == nil {
						seen = map[*T]bool{}
					}
					seen[v] = true
				}
				if !yield(v) {
					return
				}
			}
		}
	}
}
