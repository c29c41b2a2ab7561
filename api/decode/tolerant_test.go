package decode_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// foreign is a document that other programs read too.
type foreign struct {
	Size  int    `json:"size,omitempty"`
	Inner *inner `json:"inner,omitempty"`
	Exact exact  `json:"exact"`
}

type inner struct {
	Name string `json:"name,omitempty"`
}

// exact is a part in which nothing may be misspelled.
type exact struct{ inner }

func (e *exact) DecodeRaw(r decode.Raw) { r.DecodeStrictly(&e.inner) }

func (*foreign) Validate(at api.Path) error {
	return at.Field("inner").Field("name").Breaks("is looked at; leave it")
}

// TestTolerantTypes: of a tolerant type unknown fields are warnings, but where a part
// is strict; what is wrong beside them is still looked for; an older version is read.
func TestTolerantTypes(t *testing.T) {
	t.Parallel()
	catalog := api.NewCatalog(api.Type{Name: "Foreign", Plural: "foreigns", Group: "x.example", Version: "v2", Deprecated: []string{"v1"},
		Tolerant: true, New: func() api.Spec { return new(foreign) }})
	for text, want := range map[string]string{
		"apiVersion: x.example/v2\nspec: {size: 1}":                          "error spec.inner.name",
		"apiVersion: x.example/v1\nspec: {size: 1}":                          "warning apiVersion, error spec.inner.name",
		"apiVersion: x.example/v0\nspec: {size: 1}":                          "error apiVersion, error spec.inner.name",
		"apiVersion: other/v1\nspec: {size: 1}":                              "error apiVersion, error spec.inner.name",
		"apiVersion: x.example/v2\nspec: {sise: 1, inner: {nam: a}}":         "warning spec.sise, error spec.inner.name, warning spec.inner.nam",
		"apiVersion: x.example/v2\nspec: {exact: {nam: a}, inner: {nam: a}}": "error spec.exact.nam, error spec.inner.name, warning spec.inner.nam",
		"apiVersion: x.example/v2\nspec: {size: one}":                        "error spec.inner.name, error spec.size",
	} {
		_, err := decode.Objects(catalog, "f", []byte("kind: Foreign\nmetadata: {name: a}\n"+text))
		var got []string
		for _, v := range api.Violations(err) {
			got = append(got, string(v.Severity)+" "+string(v.Field))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s:\n got %s\nwant %s", text, s, want)
		}
	}
}
