package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
)

// lookup is all that those who build values may ask of a mesh. Whoever answers
// knows what was asked, and so what a value depends on.
type lookup interface {
	meshMode() string
	// dest is the destination with that id, or nil; destsNamed yields those that a
	// ref by that name may mean, by id: all of them where the name is anyTarget.
	dest(id string) *dest
	destsNamed(name string) iter.Seq[*dest]
	// routesAbout and policiesAbout yield objects that target a destination by one
	// of the names or by labels, policiesOn those that target a route so; each once.
	routesAbout(names ...string) iter.Seq[*routeObject]
	policiesAbout(names ...string) iter.Seq[*policy]
	policiesOn(routes ...string) iter.Seq[*policy]
	// readBy yields the route objects at which the dialect of one looked.
	readBy(r *routeObject) iter.Seq[*routeObject]
	// carrying lists the dataplanes with a label or tag, by their keys.
	carrying(label string) []*dataplane
	// meshServices yields the MeshService objects by their keys.
	meshServices() iter.Seq[*service]
}

func (m *mesh) meshMode() string { return m.mode }

func (m *mesh) routesAbout(names ...string) iter.Seq[*routeObject] {
	return linkedObjects[*routeObject](m, routes, names...)
}

func (m *mesh) policiesAbout(names ...string) iter.Seq[*policy] {
	return linkedObjects[*policy](m, speaksOf, names...)
}

func (m *mesh) policiesOn(routes ...string) iter.Seq[*policy] {
	return linkedObjects[*policy](m, attachesTo, routes...)
}

func (m *mesh) carrying(label string) []*dataplane {
	var out []*dataplane
	for _, key := range slices.Sorted(m.roster.of(carries, label)) {
		if !m.visit() {
			break
		}
		if o, ok := m.objects.Get([]byte(key)); ok {
			out = append(out, o.(*dataplane))
		}
	}
	return out
}

func (m *mesh) meshServices() iter.Seq[*service] {
	return func(yield func(*service) bool) {
		for x := range m.objectsOf(api.KindMeshService) {
			if s, ok := x.(*service); ok && !yield(s) {
				return
			}
		}
	}
}
