package resolve

import (
	"iter"

	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// mesh is one mesh as a question sees it: what it looks at is counted.
type mesh struct {
	dataplanesMesh
	// asked is what other questions found out, as far as it is read only together with at; nil
	// where nothing is kept.
	asked *asked
}

// dest is the destination with that id; nil where there is none.
func (m servicesMesh) dest(id string) *dest {
	d, _ := m.dests.Get(m.At, id)
	return d
}

// answering is who answers for a destination, and subjectsOf what is said about it;
// where that failed, nobody and nothing.
func (m servicesMesh) answering(d *dest) *members {
	if x, _ := m.members.Get(m.At, d.key); x != nil {
		return x
	}
	return &members{}
}

func (m routingMesh) subjectsOf(d *dest) *subjects {
	if s, _ := m.subjects.Get(m.At, d.key); s != nil {
		return s
	}
	return &subjects{routing: &routing{}}
}

// destsNamed yields the destinations that a ref by that name may mean, by id: all
// of them where the name is anyTarget.
func (m servicesMesh) destsNamed(name string) iter.Seq[*dest] {
	if name == index.Any {
		return m.dests.Values(m.At)
	}
	return m.destsByName.Values(m.At, name)
}

// destsOf yields the destinations that an entry of a route may mean.
func (m servicesMesh) destsOf(e *route.Entry) iter.Seq[*dest] {
	if e.To.Kind == "" {
		return func(func(*dest) bool) {}
	}
	return m.destsNamed(index.TargetName(e.To))
}
