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

// TestDocumentsOfANewerAPIServer: fields that weft lacks of kinds that are not its own are
// warnings once an API server has validated the document, and mistakes in a file; of weft's
// own kinds they are mistakes everywhere.
func TestDocumentsOfANewerAPIServer(t *testing.T) {
	t.Parallel()
	endpoint := `, {"addresses": ["10.0.0.1"], "later": 1}`
	service := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"b","later":{}},"spec":{"later":{"x":1},"ports":[{"port":80,"later":true}]},"later":1}`
	slice := `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"a","namespace":"b"},"addressType":"IPv4","later":1,
		"endpoints":[{"addresses":["10.0.0.1"],"newer":[]}` + strings.Repeat(endpoint, 200) + `]}`
	wrong := strings.Replace(slice, `"10.0.0.1"`, `"nowhere"`, 1)
	for _, c := range []struct{ text, want string }{
		{service, "warning metadata.later, warning spec.later, warning spec.ports[0].later, warning later"},
		{slice, "warning later, warning endpoints[0].newer, warning endpoints[1].later"},
		{wrong, "warning later, error endpoints[0].addresses[0], warning endpoints[0].newer, warning endpoints[1].later"},
		{`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"},"spec":{"later":1}}`, "warning spec.later"},
		{`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"b"},"type":"Opaque","later":1}`, "warning later"},
		{`{"apiVersion":"kuma.io/v1alpha1","kind":"HostnameGenerator","metadata":{"name":"a","namespace":"b"},"spec":{"template":"x.local","selector":{"meshService":{}},"later":1}}`, "error spec.later"},
	} {
		catalog := api.NewCatalog(api.Types()...)
		objects, err := decode.Objects(catalog.Validated(), "", []byte(c.text))
		var got []string
		for _, v := range api.Violations(err) {
			got = append(got, string(v.Severity)+" "+string(v.Field))
		}
		if s := strings.Join(got, ", "); s != c.want || (len(objects) == 1) == strings.Contains(c.want, "error") {
			t.Errorf("%.60s: %d objects\n got %s\nwant %s", c.text, len(objects), s, c.want)
		}
		if objects, err = decode.Objects(catalog, "f.json", []byte(c.text)); len(objects) != 0 || err == nil {
			t.Errorf("%.60s: from a file it is taken", c.text)
		}
	}
}
