package web_test

import (
	"os"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/internal/apitest"
)

// described is the document of the API, by which the answers of all tests are judged.
var described = sync.OnceValues(func() (*apitest.Document, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	return apitest.Read(text)
})

// The document that is embedded is what the code says, and is one of OpenAPI 3.1.
func TestTheDescriptionIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := web.Describe(world.Catalog(), world.Kinds(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Error("openapi.json is not what the code says; run go generate ./inspect/web")
	}
	doc, err := openapi3.NewLoader().LoadFromData(have)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Error(err)
	}
}
