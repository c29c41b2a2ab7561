package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// seeing shows a dialect the other documents of the mesh, and takes down which it
// looked at: the document that it read is read again when one of them changes.
type seeing struct {
	indexMesh
	reader *api.Object // nil where nobody in particular looks
}

// See shows the documents of a mesh as they are now.
func (q *Reader) See(name string) route.See {
	x, ok := q.mesh(name)
	if !ok {
		return nothing{}
	}
	return seeing{indexMesh: x.indexMesh}
}

// nothing is a mesh without documents.
type nothing struct{}

func (nothing) Zone() api.Zone                                  { return api.Zone{} }
func (nothing) Object(api.Ref) (*api.Object, bool)              { return nil, false }
func (nothing) Objects(string, map[string]string) []*api.Object { return nil }
func (nothing) Keyed(string, string) []*api.Object              { return nil }
func (nothing) Shares(*api.Object, string) bool                 { return true }

// Zone is that of the model.
func (s seeing) Zone() api.Zone { return s.in }

// Object is the document with that ref in the mesh; not ok where there is none.
func (s seeing) Object(ref api.Ref) (*api.Object, bool) {
	o, _ := s.written(ref.Kind).Get(s.at, objectKey(ref))
	if o == nil || !s.admitted(o) {
		return nil, false
	}
	return o, true
}

// Objects are the documents of a kind in the mesh that carry all the labels, in the
// order of their refs.
func (s seeing) Objects(kind string, labels map[string]string) []*api.Object {
	return s.inOrder(s.objects(kind, labels))
}

// Keyed are the route objects of a kind in the mesh that have the key, in the order
// of their refs.
func (s seeing) Keyed(kind, key string) []*api.Object {
	return s.inOrder(s.objectsByKind[s.routeObjects].Values(s.at, keyed(kind, key)))
}

// inOrder are those that take part in the mesh, in the order of their refs.
func (s seeing) inOrder(found iter.Seq[*api.Object]) []*api.Object {
	var out []*api.Object
	for o := range found {
		if s.admitted(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *api.Object) int { return a.Ref.Compare(b.Ref) })
	return out
}

// Shares reports whether what o says of a host holds wherever the word of the reader does.
func (s seeing) Shares(o *api.Object, host string) bool {
	return s.reader == nil || s.sharesHost(s.reader, o, host)
}

// record takes down what a dialect asks for, so that others can tell whose rules
// it may have.
type record struct {
	route.See
	asked map[string]bool
}

// Object notes that the ref was asked for, found or not.
func (r *record) Object(ref api.Ref) (*api.Object, bool) {
	r.asks(objectKey(ref))
	return r.See.Object(ref)
}

// Objects notes that the kind was asked for.
func (r *record) Objects(kind string, labels map[string]string) []*api.Object {
	r.asks(anyOf(kind))
	return r.See.Objects(kind, labels)
}

// Keyed notes that those with the key were asked for.
func (r *record) Keyed(kind, key string) []*api.Object {
	found := r.See.Keyed(kind, key)
	for _, o := range found {
		r.asks(objectKey(o.Ref))
	}
	return found
}

func (r *record) asks(target string) {
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[target] = true
}
