package index

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Lister shows a dialect the other documents of the mesh, and takes down which it
// looked at: the document that it read is read again when one of them changes.
type Lister struct {
	Mesh
	reader *api.Object // nil where nobody in particular looks
}

// Zone is that of the model.
func (s Lister) Zone() api.Zone { return s.Mesh.Zone }

// Object is the document with that ref in the mesh; not ok where there is none.
func (s Lister) Object(ref api.Ref) (*api.Object, bool) {
	o, _ := s.Written(ref.Kind).Get(s.At, ObjectKey(ref))
	if o == nil || !s.admitted(o) {
		return nil, false
	}
	return o, true
}

// Objects are the documents of a kind in the mesh that carry all the labels, in the
// order of their refs.
func (s Lister) Objects(kind string, labels map[string]string) []*api.Object {
	return s.inOrder(s.Mesh.Objects(kind, labels))
}

// Keyed are the route objects of a kind in the mesh that have the key, in the order
// of their refs.
func (s Lister) Keyed(kind, key string) []*api.Object {
	return s.inOrder(s.ObjectsByKind[s.RouteObjects].Values(s.At, keyed(kind, key)))
}

// inOrder are those that take part in the mesh, in the order of their refs.
func (s Lister) inOrder(found iter.Seq[*api.Object]) []*api.Object {
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
func (s Lister) Shares(o *api.Object, host string) bool {
	return s.reader == nil || s.sharesHost(s.reader, o, host)
}

// Recorder takes down what a dialect asks for, so that others can tell whose rules
// it may have.
type Recorder struct {
	route.Lister
	Targets map[string]bool
}

// Object notes that the ref was asked for, found or not.
func (r *Recorder) Object(ref api.Ref) (*api.Object, bool) {
	r.asks(ObjectKey(ref))
	return r.Lister.Object(ref)
}

// Objects notes that the kind was asked for.
func (r *Recorder) Objects(kind string, labels map[string]string) []*api.Object {
	r.asks(AnyOf(kind))
	return r.Lister.Objects(kind, labels)
}

// Keyed notes that those with the key were asked for.
func (r *Recorder) Keyed(kind, key string) []*api.Object {
	found := r.Lister.Keyed(kind, key)
	for _, o := range found {
		r.asks(ObjectKey(o.Ref))
	}
	return found
}

func (r *Recorder) asks(target string) {
	if r.Targets == nil {
		r.Targets = map[string]bool{}
	}
	r.Targets[target] = true
}
