package resolve

import (
	"iter"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// Reader looks at a model to answer one question. It counts the values that it
// looks at, which is what the question costs, and looks no further when nobody
// waits for the answer any more; what was found by then is then incomplete.
// A Reader is for one goroutine.
type Reader struct {
	*Model
	failed   []impact.Place
	failures []Failure // of the model, since somebody asked
	visited  int
	gone     func() bool
	left     bool
}

// Reader reads m; gone may be nil, for somebody who always waits.
func (m *Model) Reader(gone func() bool) *Reader { return &Reader{Model: m, gone: gone} }

// Visited is how many values were looked at: dataplanes, shared values such as
// tables, documents.
func (q *Reader) Visited() int { return q.visited }

// Failed are the places at which following objects met a bug, so that nobody knows
// what is attached there; each shared value once.
func (q *Reader) Failed() []impact.Place { return q.failed }

// lookAgain is after how many values the Reader asks whether somebody waits.
const lookAgain = 64

// visit counts one value. It is false when nobody waits any more.
func (q *Reader) visit() bool {
	q.visited++
	if q.gone != nil && q.visited%lookAgain == 0 && q.gone() {
		q.left = true
	}
	return !q.left
}

// Visit counts a value that somebody else looks at for the question; false as
// soon as nobody waits for the answer.
func (q *Reader) Visit() bool { return q.visit() }

// Dataplanes yields all of a mesh ("" for all meshes) in the order of their refs.
func (q *Reader) Dataplanes(mesh string) iter.Seq[*effective.Resolved] {
	return counted(q, q.Model.Dataplanes(mesh))
}

// MeshNames yields the names of all meshes of which there is something, in their order.
func (q *Reader) MeshNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		it := q.meshes.Root().Iterator()
		for name, _, ok := it.Next(); ok; name, _, ok = it.Next() {
			if !yield(string(name)) {
				return
			}
		}
	}
}

// mesh is one of the model's as the question sees it: what is looked at in it is
// counted.
func (q *Reader) mesh(name string) (mesh, bool) {
	g, ok := q.meshes.Get([]byte(name))
	return q.at(g, derive.Counted(g.Graph, q.visit)), ok
}

// Destinations yields those of a mesh in the order of their ids.
func (q *Reader) Destinations(mesh string) iter.Seq[*effective.Destination] {
	return counted(q, q.Model.Destinations(mesh))
}

// Attachable yields the policies and routes of a mesh in the order of their refs.
func (q *Reader) Attachable(mesh string) iter.Seq[*api.Object] {
	return counted(q, func(yield func(*api.Object) bool) {
		for _, kind := range q.attachableKinds() {
			for o := range q.snapshot.Of(kind, mesh) {
				if !yield(o) {
					return
				}
			}
		}
	})
}

// CountAttachable is how many policies and routes of a mesh there are, of those kinds that count.
func (q *Reader) CountAttachable(mesh string, counts func(kind string) bool) (n int) {
	for _, kind := range q.attachableKinds() {
		if counts(kind) {
			n += q.snapshot.Count(kind, mesh)
		}
	}
	return n
}

func counted[T any](q *Reader, seq iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range seq {
			if !q.visit() || !yield(v) {
				return
			}
		}
	}
}

// asked is what questions found out about a mesh that is there.
func (q *Reader) asked(mesh string) *asked {
	state, _ := q.meshes.Get([]byte(mesh))
	return state.asked
}

// noted is what there is to say on all policies and routes of a mesh.
func (q *Reader) noted(x mesh) *conditions.Notes { return x.AllNotes(q.attachableKinds(), q.whole) }

// whole reports whether the question was answered to its end so far: else what was found is not all.
func (q *Reader) whole() bool { return !q.left }
