package web_test

import (
	"encoding/json"
	"os"
	"reflect"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/apitest"
	"github.com/weftmesh/weft/internal/comments"
	"github.com/weftmesh/weft/internal/openapi"
)

// described is the document of the API, by which the answers of all tests are judged.
var described = sync.OnceValues(func() (*apitest.Document, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	return apitest.Read(text)
})

// The document that is embedded is what the code says, and is one of OpenAPI 3.1. Words, which
// follow comments of other packages, may be older: go generate of all brings them.
func TestTheDescriptionIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := openapi.Describe(world.Catalog(), world.Kinds(), comments.New("github.com/weftmesh/weft/", "../..").About)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(undescribed(t, have), undescribed(t, want)) {
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

// undescribed is a document without its words.
func undescribed(t *testing.T, text []byte) any {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return wordless(doc)
}

func wordless(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for _, x := range v {
			wordless(x)
		}
	case []any:
		for _, x := range v {
			wordless(x)
		}
	}
	return value
}
