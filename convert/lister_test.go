package convert_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/convert"
)

// TestObjectsSeeTheirKind: who asks for a kind with labels gets neither other kinds nor others
// of the kind.
func TestObjectsSeeTheirKind(t *testing.T) {
	t.Parallel()
	object := func(kind, name, team string) *api.Object {
		return &api.Object{Ref: api.Ref{Kind: kind, Mesh: "default", Name: name}, Labels: map[string]string{"team": team}}
	}
	objects := []*api.Object{object("Service", "b", "x"), object("Secret", "a", "x"), object("Service", "a", "x"), object("Service", "c", "y")}
	var names []string
	for _, o := range convert.Seen(objects, "Service", map[string]string{"team": "x"}) {
		names = append(names, o.Kind+"/"+o.Name)
	}
	if want := []string{"Service/a", "Service/b"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
