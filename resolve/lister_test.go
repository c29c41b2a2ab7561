package resolve

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// TestWhatADialectSawIsRecorded: who looked at another document, or for one that
// was not there, is asked again when that changes, and only then.
func TestWhatADialectSawIsRecorded(t *testing.T) {
	t.Parallel()
	c := newCollections(nil, nil, api.Zone{})
	object := func(kind, name string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: kind, Mesh: "default", Name: name}}
	}
	secret, saw := object("Secret", "tls"), ""
	derive.Derive(c.all.Schema, "probe", c.all.MeshObjects, derive.Values[string]{}, func(r *derive.Reader, _ string) *string {
		see := index.Lister{Mesh: c.all.Index().Stage.Mesh(r)}
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
	g := c.all.Schema.New()
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
		g, _ = g.Update(c.all.Written(step.object.Kind).Put(index.ObjectKey(step.object.Ref), step.object))
		if saw != step.saw {
			t.Errorf("after %s it saw %q, want %q", step.object.Ref, saw, step.saw)
		}
	}
}

// TestKeyedObjects: a dialect finds objects of its kinds by its own words, and is asked
// again when one of them comes, goes or changes its words.
func TestKeyedObjects(t *testing.T) {
	t.Parallel()
	dialect := route.Dialect{Types: []api.Type{{Name: "Word"}}, Keys: func(o *api.Object) []string { return strings.Fields(o.Labels["says"]) }}
	c := newCollections([]route.Dialect{dialect}, nil, api.Zone{})
	saw := ""
	derive.Derive(c.all.Schema, "probe", c.all.MeshObjects, derive.Values[string]{}, func(r *derive.Reader, _ string) *string {
		see := &index.Recorder{Lister: index.Lister{Mesh: c.all.Index().Stage.Mesh(r)}}
		saw = "nothing"
		for _, o := range see.Keyed("Word", "b") {
			saw += " " + o.Name
		}
		if n := len(see.Targets); n != strings.Count(saw, " ") {
			t.Errorf("of %q %d are taken down", saw, n)
		}
		return nil
	})
	g := c.all.Schema.New()
	for _, step := range [][3]string{
		{api.KindMesh, "default", "nothing"}, {"Word a", "b", "nothing a"}, {"Word b", "a", ""}, {"Word c", "a b", "nothing a c"},
		{"Word a", "c", "nothing c"}, {"Word a", "d", ""},
	} {
		kind, name, _ := strings.Cut(step[0], " ")
		o := &api.Object{Ref: api.Ref{Kind: kind, Mesh: "default", Name: name}, Labels: map[string]string{"says": step[1]}}
		saw = ""
		g, _ = g.Update(c.all.Written(kind).Put(index.ObjectKey(o.Ref), o))
		if saw != step[2] {
			t.Errorf("after %v it saw %q", step, saw)
		}
	}
}
