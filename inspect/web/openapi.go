package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/changes"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/store"
)

//go:generate go run ../../hack/openapi -root ../.. -to openapi.json

// description is what Describe says of this program, made by go generate, so that no
// process has to look at its types.
//
//go:embed openapi.json
var description []byte

// noVersion stands in the description for the version of the program.
const noVersion = "0.0.0"

// openAPI answers with the description of the API.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	version, err := json.Marshal(s.About.Version)
	if err != nil {
		return err
	}
	said := append([]byte(`"version":`), version...)
	httpapi.Write(w, http.StatusOK, endpoint.OfJSON, bytes.Replace(description, []byte(`"version": "`+noVersion+`"`), said, 1))
	return nil
}

// componentNames are of types that are called alike, or in Go alone as they are.
var componentNames = map[reflect.Type]string{
	reflect.TypeFor[httpapi.ProblemDetails](): "Error",

	reflect.TypeFor[changes.Planned](): "Plan",
	reflect.TypeFor[answering]():       "About",

	reflect.TypeFor[conditions.Overview]():        "MeshStatus",
	reflect.TypeFor[conditions.Counts]():          "DataplaneCounts",
	reflect.TypeFor[insights.Counts]():            "InsightCounts",
	reflect.TypeFor[insights.Total]():             "InsightTotal",
	reflect.TypeFor[insights.Versions]():          "InsightVersions",
	reflect.TypeFor[kuma.Name]():                  "DataplaneName",
	reflect.TypeFor[kuma.Zone]():                  "ZoneName",
	reflect.TypeFor[plan.Route]():                 "PlanRoute",
	reflect.TypeFor[plan.Inbound]():               "PlanInbound",
	reflect.TypeFor[plan.Dataplanes]():            "PlanDataplanes",
	reflect.TypeFor[plan.Resource]():              "EnvoyResource",
	reflect.TypeFor[plan.Field]():                 "EnvoyField",
	reflect.TypeFor[sim.Route]():                  "VerdictRoute",
	reflect.TypeFor[sim.Inbound]():                "CalledInbound",
	reflect.TypeFor[sim.Policy]():                 "EffectivePolicy",
	reflect.TypeFor[wire.Request]():               "SimulationRequest",
	reflect.TypeFor[timeline.EndOfAll]():          "EndOfAttempts",
	reflect.TypeFor[explain.Shown]():              "EdgeTLS",
	reflect.TypeFor[conditions.Unread]():          "UnreadDocument",
	reflect.TypeFor[explain.NotApplied]():         "UnmatchedObject",
	reflect.TypeFor[explain.SupersededList]():     "LostList",
	reflect.TypeFor[inspect.Withheld]():           "Held",
	reflect.TypeFor[mtls.DataplaneMTLS]():         "SecuredDataplane",
	reflect.TypeFor[mtls.InboundMTLS]():           "SecuredInbound",
	reflect.TypeFor[certificates.RotateRequest](): "TurnRequest",
	reflect.TypeFor[conditions.SupersededPart]():  "LostPart",
	reflect.TypeFor[mtls.Rotated]():               "Turned",
}

// knownTypes are of texts of which there are few, and types that write themselves.
var knownTypes = map[reflect.Type]endpoint.Schema{
	reflect.TypeFor[api.Severity]():        endpoint.OneOf(string(api.Error), string(api.Warning), string(api.Info)),
	reflect.TypeFor[store.WriteAction]():   endpoint.OneOf(string(store.Created), string(store.Updated), string(store.Unchanged), string(store.Deleted), string(store.Missing)),
	reflect.TypeFor[sim.Outcome]():         endpoint.OneOf(string(sim.Forward), string(sim.Redirect), string(sim.Respond), string(sim.Passthrough), string(sim.Close), string(sim.Reset)),
	reflect.TypeFor[inspect.State]():       sidecars.StateSchema,
	reflect.TypeFor[access.AccessChange](): endpoint.OneOf(string(access.Widens), string(access.Both), string(access.MayWiden), string(access.Narrows)),
	reflect.TypeFor[mtls.PhaseName]():      endpoint.OneOf("Off", "Certificates", "Switching", "Permissive", "Hardening", "Strict"),
	reflect.TypeFor[wire.Headers]():        jsonschema.MapOf(jsonschema.Text()),
	reflect.TypeFor[endpoint.Document]():   jsonschema.RefTo("Document"),
	reflect.TypeFor[struct{}]():            jsonschema.Closed(endpoint.Schema{}),
	reflect.TypeFor[match.Match]():         jsonschema.RefTo("Match"),
	reflect.TypeFor[api.Spec]():            jsonschema.RefTo("DataplaneSpec"), // of overviews alone
	reflect.TypeFor[map[string]any]():      {"type": "object", "additionalProperties": true},
}

// Describe is the OpenAPI document of the API with the types of a catalog, as it is
// embedded; about says what types and their fields are for.
func Describe(c *api.Catalog, kinds []*policies.Kind, about func(t reflect.Type, field string) string) ([]byte, error) {
	s := newServer(Config{Catalog: c, Kinds: kinds})
	parts := &jsonschema.Components{Schemas: endpoint.Schema{}, Names: componentNames, Known: knownTypes, About: about}
	parts.Of(reflect.TypeFor[httpapi.ProblemDetails]())
	s.documents(parts)
	paths := endpoint.Schema{}
	for _, e := range s.routes() {
		method, path, _ := strings.Cut(e.Pattern, " ")
		path = strings.ReplaceAll(path, "{$}", "")
		item, ok := paths[path].(endpoint.Schema)
		if !ok {
			item = endpoint.Schema{}
			paths[path] = item
		}
		item[strings.ToLower(method)] = e.Operation(method, path, parts)
	}
	text, err := json.MarshalIndent(endpoint.Schema{"openapi": "3.1.0", "info": endpoint.Schema{"title": "weft", "version": noVersion},
		"paths": paths, "components": endpoint.Schema{"schemas": parts.Schemas, "responses": endpoint.Schema{"Refused": refused}}}, "", "")
	return append(text, '\n'), err
}

// refused is the answer to whatever is not answered otherwise.
var refused = endpoint.Schema{"description": "Refused: what is wrong, and what to do", "content": endpoint.Schema{endpoint.OfJSON: endpoint.Schema{"schema": jsonschema.RefTo("Error")}}}

// documents describes all types of documents.
func (s *server) documents(parts *jsonschema.Components) {
	parts.Schemas["KubernetesDocument"] = endpoint.Schema{"description": "One document in the envelope of Kubernetes", "type": "object", "required": []string{"apiVersion", "kind", "metadata"}, "additionalProperties": true,
		"properties": endpoint.Schema{"apiVersion": jsonschema.Text(), "kind": jsonschema.Text(), "metadata": endpoint.Schema{"type": "object", "additionalProperties": true}}}
	parts.Schemas["Match"] = match.Schema()
	dataplane, _ := s.Catalog.Type(api.KindDataplane)
	parts.Schemas["DataplaneSpec"] = s.schemas.SpecOf(dataplane)
	alternatives := []endpoint.Schema{}
	for _, t := range s.Catalog.Types() {
		t, ok := s.Catalog.InMesh(t)
		if !ok {
			continue
		}
		parts.Schemas[t.Name] = s.schemas.InKuma(t)
		alternatives = append(alternatives, jsonschema.RefTo(t.Name))
	}
	slices.SortFunc(alternatives, func(a, b endpoint.Schema) int { return strings.Compare(a["$ref"].(string), b["$ref"].(string)) })
	parts.Schemas["Document"] = endpoint.Schema{"description": "One document of any type", "anyOf": append(alternatives, jsonschema.RefTo("KubernetesDocument"))}
}
