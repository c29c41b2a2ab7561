package all_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/xds/envoy"
)

func catalog() *api.Catalog { return policytest.CatalogOf(all.Kinds...) }

// FuzzPolicy reads any text. What it accepts can be printed and read again, and
// becomes messages that Envoy's generated validation accepts.
func FuzzPolicy(f *testing.F) {
	for _, k := range all.Kinds {
		f.Add([]byte(k.Example))
	}
	stories, err := filepath.Glob("../*/testdata/validation/*.txtar")
	if err != nil || len(stories) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range stories {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			f.Add(file.Data)
		}
	}
	types := catalog()
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, found := decode.Objects(types, "", text)
		for _, o := range objects {
			s := o.Spec.(*policies.Spec)
			again(t, types, o, s)
			for _, p := range protocols {
				writes(t, s, p, found != nil)
			}
		}
	})
}

// again prints a spec and reads it back.
func again(t *testing.T, types *api.Catalog, o *api.Object, s *policies.Spec) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": o.Kind, "mesh": o.Mesh, "name": o.Name, "spec": s})
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode.Objects(types, "", text)
	if err != nil && api.Refuses(err) {
		t.Fatalf("%v\n%s", err, text)
	}
	ignore := cmp.Options{cmpopts.IgnoreUnexported(policies.Spec{}, policies.Item{}, policies.Rule{}), cmpopts.IgnoreFields(policies.Spec{}, "Kind"), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(s, back[0].Spec.(*policies.Spec), ignore); diff != "" {
		t.Fatal(diff)
	}
}

// writes lets a spec write. One that says nothing is accepted with a warning alone.
func writes(t *testing.T, s *policies.Spec, p api.Protocol, warned bool) {
	t.Helper()
	var layers []merge.Layer
	if w := s.Whole(); w != nil {
		layers = append(layers, merge.Layer{Origin: &api.Origin{}, Leaves: w.Leaves()})
	}
	for i := range s.To {
		layers = append(layers, merge.Layer{Origin: &api.Origin{}, Leaves: s.To[i].Leaves()})
	}
	for i := range s.From {
		layers = append(layers, merge.Layer{Origin: &api.Origin{}, Leaves: s.From[i].Leaves()})
	}
	for i := range s.Rules {
		layers = append(layers, merge.Layer{Origin: &api.Origin{}, Leaves: s.Rules[i].Leaves()})
	}
	e := s.Kind.Resolve(layers)
	if e == nil && warned {
		return
	}
	if e == nil {
		t.Fatal("an accepted policy says nothing")
	}
	e.Notes()
	for _, m := range policytest.Write(envoy.Place{Protocol: p}, e.Conf).Messages() {
		if v, ok := m.(interface{ ValidateAll() error }); ok {
			if err := v.ValidateAll(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, k := range all.Kinds {
		objects, err := decode.Objects(catalog(), k.Name, []byte(k.Example))
		if err != nil {
			t.Error(err)
		}
		for _, o := range objects {
			if o.Kind != k.Name {
				t.Errorf("the example of %s has a %s", k.Name, o.Kind)
			}
		}
	}
}
