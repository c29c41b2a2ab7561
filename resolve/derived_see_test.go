package resolve

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// seeing shows a dialect the other documents of the mesh, and takes down which it
// looked at: the document that it read is read again when one of them changes.
type seeing reading

// Object is the document with that ref in the mesh; not ok where there is none.
func (s seeing) Object(ref api.Ref) (*api.Object, bool) {
	o, _ := s.written(ref.Kind).Get(s.at, objectKey(ref))
	return o, o != nil
}

// Objects are the documents of a kind in the mesh, in the order of their refs.
func (s seeing) Objects(kind string) []*api.Object {
	var out []*api.Object
	for _, o := range s.written(kind).All(s.at) {
		if o.Kind == kind {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *api.Object) int { return a.Ref.Compare(b.Ref) })
	return out
}

// TestWhatADialectSawIsRecorded: who looked at another document, or for one that
// was not there, is asked again when that changes, and only then.
func TestWhatADialectSawIsRecorded(t *testing.T) {
	t.Parallel()
	c := newCollections(nil, nil, nil)
	object := func(kind, name string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: kind, Mesh: "default", Name: name}}
	}
	secret, saw := object("Secret", "tls"), ""
	derive.Derive(c.schema, "probe", c.meshObjects, derive.Values[string]{}, func(r *derive.Reader, _ string) *string {
		see := seeing{c, r}
		saw = "nothing"
		if o, ok := see.Object(secret.Ref); ok {
			saw = o.Name
		}
		for _, o := range see.Objects(api.KindMeshService) {
			saw += " " + o.Name
		}
		return nil
	})
	g := c.schema.New()
	for _, step := range []struct {
		object *api.Object
		saw    string // empty where nobody looks
	}{
		{object(api.KindMesh, "default"), "nothing"},
		{object("Secret", "other"), ""},
		{secret, "tls"},
		{object(api.KindMeshService, "b"), "tls b"},
		{object(api.KindMeshService, "a"), "tls a b"},
		{object(api.KindDataplane, "x"), ""},
	} {
		saw = ""
		g, _ = g.Update(c.written(step.object.Kind).Put(objectKey(step.object.Ref), step.object))
		if saw != step.saw {
			t.Errorf("after %s it saw %q, want %q", step.object.Ref, saw, step.saw)
		}
	}
}
