package mtls

import (
	"iter"

	"github.com/weftmesh/weft/api"
)

// byDataplane maps dataplanes to something. There may be very many, so that a key is the text of its
// name alone, and what many names have alike is there once. The zero value is empty.
type byDataplane[V any] struct {
	homes map[home]map[string]V
	n     int
}

// home is what dataplanes of one mesh and namespace have alike.
type home struct{ mesh, namespace string }

func homeOf(dp api.Ref) home { return home{dp.Mesh, dp.Namespace} }

// get is the zero value where there is nothing.
func (m *byDataplane[V]) get(dp api.Ref) V { return m.homes[homeOf(dp)][dp.Name] }

func (m *byDataplane[V]) set(dp api.Ref, v V) {
	if m.homes == nil {
		m.homes = map[home]map[string]V{}
	}
	names := m.homes[homeOf(dp)]
	if names == nil {
		names = map[string]V{}
		m.homes[homeOf(dp)] = names
	}
	before := len(names)
	names[dp.Name] = v
	m.n += len(names) - before
}

func (m *byDataplane[V]) drop(dp api.Ref) {
	names := m.homes[homeOf(dp)]
	before := len(names)
	delete(names, dp.Name)
	m.n += len(names) - before
	if len(names) == 0 {
		delete(m.homes, homeOf(dp))
	}
}

// all is in no order. What it yields may be dropped meanwhile.
func (m *byDataplane[V]) all() iter.Seq2[api.Ref, V] {
	return func(yield func(api.Ref, V) bool) {
		for h, names := range m.homes {
			for name, v := range names {
				if !yield(api.Ref{Kind: api.KindDataplane, Mesh: h.mesh, Namespace: h.namespace, Name: name}, v) {
					return
				}
			}
		}
	}
}
