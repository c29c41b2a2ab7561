package resolve

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

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
		for _, o := range see.Objects(api.KindMeshService, nil) {
			saw += " " + o.Name
		}
		for _, o := range see.Objects("Namespace", map[string]string{"team": "shop", "env": "prod"}) {
			saw += " in " + o.Name
		}
		return nil
	})
	labelled := func(name string, labels map[string]string) *api.Object {
		o := object("Namespace", name)
		o.Labels = labels
		return o
	}
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
		{labelled("blue", map[string]string{"team": "shop", "env": "prod"}), "tls a b in blue"},
		{labelled("green", map[string]string{"team": "shop"}), ""},
		{labelled("blue", map[string]string{"team": "shop"}), "tls a b"},
	} {
		saw = ""
		g, _ = g.Update(c.written(step.object.Kind).Put(objectKey(step.object.Ref), step.object))
		if saw != step.saw {
			t.Errorf("after %s it saw %q, want %q", step.object.Ref, saw, step.saw)
		}
	}
}
