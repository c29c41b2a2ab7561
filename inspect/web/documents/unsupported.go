package documents

import (
	"net/http"

	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/objects"
)

// unsupportedEndpoints are lists that only kinds which weft has not have.
func (h *Handlers) unsupportedEndpoints() []endpoint.Operation {
	var all []endpoint.Operation
	for _, plural := range []string{"zones", "zoneingresses", "zoneegresses"} {
		all = append(all, endpoint.New("GET /"+plural+"/_overview", func(w http.ResponseWriter, _ *http.Request) error { return objects.Nothing(w) },
			"Kinds that only Kuma has: none", endpoint.Lists[endpoint.Document]()))
	}
	return all
}
