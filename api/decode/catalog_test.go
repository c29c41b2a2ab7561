package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/nearest"
)

// People may call a type by any of its names in any case; documents may not.
func TestFind(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"MeshService": "MeshService", "meshservice": "MeshService", "meshservices": "MeshService", "MSVC": "MeshService",
		"dp": "Dataplane", "m": "Mesh", "meshes": "Mesh", "nothing": "", "": "",
	} {
		if got, ok := catalog.Find(word); got.Name != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", word, got.Name, ok)
		}
	}
	if _, ok := catalog.Type("meshservice"); ok {
		t.Error("a document may write meshservice")
	}
	if typ, ok := catalog.ByPlural("meshservices"); !ok || typ.Name != "MeshService" {
		t.Error("no REST path meshservices")
	}
	if _, ok := catalog.ByPlural("msvc"); ok {
		t.Error("msvc is a REST path")
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][]string{
		"MeshServce": {"MeshService"}, "meshservice": {"MeshService"}, "Dataplan": {"Dataplane"}, "Dtaaplane": {"Dataplane"}, "Banana": nil, "": nil,
	} {
		if diff := cmp.Diff(want, catalog.Nearest(word)); diff != "" {
			t.Errorf("%q: %s", word, diff)
		}
	}
	if got := nearest.To("route-l", []string{"route-2", "route-1", "router", "web"}, 2); !cmp.Equal(got, []string{"route-1", "route-2"}) {
		t.Errorf("got %v", got)
	}
}

// Types that answer to one word are a bug, found at once.
func TestCatalogRefusesAmbiguity(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("two types are called m")
		}
	}()
	api.NewCatalog(append(api.Types(), api.Type{Name: "Other", Short: "M"})...)
}

// A spec may take parts undecoded and read them when it knows their type; what
// is wrong in them stands among all else.
func TestRaw(t *testing.T) {
	t.Parallel()
	c := api.NewCatalog(api.Type{Name: "Box", New: func() api.Spec { return new(box) }})
	_, err := decode.Objects(c, "f", []byte("type: Box\nname: a\nspec:\n  number: x\n  part: {size: -1, sise: 1}\n  absent:\n"))
	want := []string{
		"f:4:11: spec.number: \"x\" is not what belongs here; write a whole number from 0 to 4294967295",
		"f:5:16: spec.part.size: -1 is out of range; write a whole number from 0 to 255",
		"f:5:20: spec.part.sise: unknown field; did you mean size?",
	}
	var got []string
	for _, v := range api.Violations(err) {
		got = append(got, v.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type box struct{ t []uint8 }

func (b *box) Validate(api.Path) error { return nil }

func (b *box) DecodeRaw(r decode.Raw) {
	var e struct {
		Number uint32     `json:"number"`
		Part   decode.Raw `json:"part"`
		Absent decode.Raw `json:"absent"`
	}
	r.Decode(&e)
	var part struct {
		Size uint8 `json:"size"`
	}
	if e.Part.Decode(&part) || e.Absent.IsSet() || !e.Absent.Decode(&part) {
		panic("the part is wrong, the other is absent")
	}
	b.t = append(b.t, part.Size)
}

// Where the operators write is told by the catalogue, and only where they write is an
// object the system's.
func TestSystemNamespaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system    []string
		namespace string
		want      bool
	}{
		{nil, "weft-system", true},
		{nil, "kuma-system", true},
		{nil, "shop", false},
		{[]string{"ops"}, "ops", true},
		{[]string{"ops"}, "weft-system", false},
		{[]string{}, "weft-system", false},
	} {
		by := catalog
		if c.system != nil {
			by = catalog.WithSystemNamespaces(c.system)
		}
		objects, err := decode.Objects(by, "f", []byte("apiVersion: kuma.io/v1alpha1\nkind: MeshService\nmetadata: {name: web, namespace: "+c.namespace+"}\nspec: {selector: {dataplaneTags: {a: b}}, ports: [{port: 80}]}\n"))
		if err != nil || len(objects) != 1 {
			t.Fatal(err)
		}
		if want := (api.Home{Namespace: c.namespace, System: c.want}); objects[0].Home() != want {
			t.Errorf("with %q: %+v, want %+v", c.system, objects[0].Home(), want)
		}
	}
}
