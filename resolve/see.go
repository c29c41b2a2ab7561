package resolve

import (
	"iter"
	"maps"
	"slices"
	"strings"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// seer shows a dialect the other objects of the mesh as they are after a batch of
// changes.
type seer struct {
	batch  map[api.Ref]*api.Object // nil where the object goes
	before *iradix.Tree[any]       // the objects before the batch
}

// Object is the object of that kind and name in the mesh; not ok where there is
// none.
func (s *seer) Object(ref api.Ref) (*api.Object, bool) {
	if o, changed := s.batch[ref]; changed {
		return o, o != nil
	}
	x, ok := s.before.Get([]byte(objectKey(ref)))
	if !ok {
		return nil, false
	}
	return objectOf(x), true
}

// Objects are those of a kind in the mesh, in the order of their refs.
func (s *seer) Objects(kind string) []*api.Object {
	all := map[api.Ref]*api.Object{}
	it := s.before.Root().Iterator()
	it.SeekPrefix([]byte(kind + "/"))
	for _, x, ok := it.Next(); ok; _, x, ok = it.Next() {
		all[objectOf(x).Ref] = objectOf(x)
	}
	for ref, o := range s.batch {
		switch {
		case o == nil:
			delete(all, ref)
		case ref.Kind == kind:
			all[ref] = o
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *api.Object) int { return a.Ref.Compare(b.Ref) })
}

// record takes down what a dialect asks for: an object that read another one is
// read again when that changes.
type record struct {
	route.See
	asked map[string]bool // targets of the relation reads
}

// Object notes that the ref was asked for, found or not.
func (r *record) Object(ref api.Ref) (*api.Object, bool) {
	r.asks(objectKey(ref))
	return r.See.Object(ref)
}

// Objects notes that the kind was asked for.
func (r *record) Objects(kind string) []*api.Object {
	r.asks(anyOf(kind))
	return r.See.Objects(kind)
}

func (r *record) asks(target string) {
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[target] = true
}

// anyOf is what a reader of all objects of a kind is linked to.
func anyOf(kind string) string { return kind + "/" + anyTarget }

// meant reports whether a target of the relation reads is about an object.
func meant(target, key string) bool { return key == target || strings.HasSuffix(target, anyTarget) }

// readers are the route objects whose dialect looked at an object, or for one
// that was not there.
func (m *mesh) readers(ref api.Ref) []*routeObject {
	var out []*routeObject
	for _, target := range []string{objectKey(ref), anyOf(ref.Kind)} {
		for key := range m.linked(reads, target) {
			if o, ok := m.objects.Get([]byte(key)); ok {
				out = append(out, o.(*routeObject))
			}
		}
	}
	return out
}

// readBy yields the route objects of which r took rules, or looked whether it should.
func (m *mesh) readBy(r *routeObject) iter.Seq[*routeObject] {
	return func(yield func(*routeObject) bool) {
		for _, target := range r.reads {
			it := m.objects.Root().Iterator()
			it.SeekPrefix([]byte(strings.TrimSuffix(target, anyTarget)))
			for key, x, ok := it.Next(); ok; key, x, ok = it.Next() {
				if o, isRoute := x.(*routeObject); isRoute && meant(target, string(key)) && !yield(o) {
					return
				}
			}
		}
	}
}

// withReaders are changes together with the objects that have to be read again
// because of them, as if they had changed to what they are.
func (u *updater) withReaders(changes []api.Change) []api.Change {
	if u.fresh {
		return changes
	}
	known := map[api.Ref]bool{}
	for _, c := range changes {
		known[c.Ref()] = true
	}
	out := changes
	for _, c := range changes {
		for _, r := range u.mesh.readers(c.Ref()) {
			if !known[r.object.Ref] {
				known[r.object.Ref] = true
				out = append(out[:len(out):len(out)], api.Change{Before: r.object, After: r.object})
			}
		}
	}
	return out
}
