package policies_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
)

// listConf has a list that adds up, and one that does not.
type listConf struct {
	AppendNames []string `json:"appendNames,omitzero" weft:"listener,names"`
	Names       []string `json:"names,omitzero" weft:"listener,names"`
}

func (*listConf) Validate(api.Path) error { return nil }

// TestAListThatBeginsWithAppendAddsUp: a stronger policy replaces every other list.
func TestAListThatBeginsWithAppendAddsUp(t *testing.T) {
	t.Parallel()
	k := &policies.Kind{Name: "MeshList", New: func() policies.Conf { return new(listConf) }, Schema: policies.SchemaOf[listConf]()}
	var layers []merge.Layer
	for _, c := range []*listConf{{AppendNames: []string{"a", "b"}, Names: []string{"a"}}, {AppendNames: []string{"b", "c"}, Names: []string{"c"}}} {
		layers = append(layers, merge.Layer{Name: merge.Mesh, Origin: &api.Origin{}, Leaves: k.Schema.Read(c)})
	}
	got := k.Resolve(layers).Conf.(*listConf)
	if !slices.Equal(got.AppendNames, []string{"a", "b", "c"}) || !slices.Equal(got.Names, []string{"c"}) {
		t.Errorf("%+v", got)
	}
}
