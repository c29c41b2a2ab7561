package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/policies"
)

//go:generate go run ../../hack/openapi -root ../.. -to openapi.json

// description is what internal/openapi says of this program, made by go generate, so that no
// process has to look at its types.
//
//go:embed openapi.json
var description []byte

// NoVersion stands in the description for the version of the program.
const NoVersion = "0.0.0"

// openAPI answers with the description of the API.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	version, err := json.Marshal(s.About.Version)
	if err != nil {
		return err
	}
	said := append([]byte(`"version":`), version...)
	httpapi.Write(w, http.StatusOK, endpoint.OfJSON, bytes.Replace(description, []byte(`"version": "`+NoVersion+`"`), said, 1))
	return nil
}

// Operations are the endpoints of the API with the types of a catalog, as go generate describes them.
func Operations(c *api.Catalog, kinds []*policies.Kind) []endpoint.Operation {
	return newServer(Config{Catalog: c, Kinds: kinds}).routes()
}
