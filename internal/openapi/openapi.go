// Package openapi describes the HTTP API from the code of its endpoints and the types that they read and
// answer. go generate keeps what it says in inspect/web/openapi.json, so that no process looks at its types.
package openapi

import (
	"encoding/json"
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
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/changes"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/schemas"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/store"
)

// componentNames are of types that are called alike, or in Go alone as they are.
var componentNames = map[reflect.Type]string{
	reflect.TypeFor[httpapi.ProblemDetails](): "Error",

	reflect.TypeFor[changes.Planned](): "Plan",
	reflect.TypeFor[web.ServerInfo]():  "About",

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
var knownTypes = map[reflect.Type]jsonschema.Schema{
	reflect.TypeFor[api.Severity]():        endpoint.OneOf(string(api.Error), string(api.Warning), string(api.Info)),
	reflect.TypeFor[store.WriteAction]():   endpoint.OneOf(string(store.Created), string(store.Updated), string(store.Unchanged), string(store.Deleted), string(store.Missing)),
	reflect.TypeFor[sim.Outcome]():         endpoint.OneOf(string(sim.Forward), string(sim.Redirect), string(sim.Respond), string(sim.Passthrough), string(sim.Close), string(sim.Reset)),
	reflect.TypeFor[inspect.State]():       sidecars.StateSchema,
	reflect.TypeFor[access.AccessChange](): endpoint.OneOf(string(access.Widens), string(access.Both), string(access.MayWiden), string(access.Narrows)),
	reflect.TypeFor[mtls.PhaseName]():      endpoint.OneOf("Off", "Certificates", "Switching", "Permissive", "Hardening", "Strict"),
	reflect.TypeFor[wire.Headers]():        jsonschema.MapOf(jsonschema.Text()),
	reflect.TypeFor[endpoint.Document]():   jsonschema.RefTo("Document"),
	reflect.TypeFor[struct{}]():            jsonschema.Closed(jsonschema.Schema{}),
	reflect.TypeFor[match.Match]():         jsonschema.RefTo("Match"),
	reflect.TypeFor[api.Spec]():            jsonschema.RefTo("DataplaneSpec"), // of overviews alone
	reflect.TypeFor[map[string]any]():      {"type": "object", "additionalProperties": true},
}

// Describe is the OpenAPI document of the API with the types of a catalog, as it is
// embedded; about says what types and their fields are for.
func Describe(c *api.Catalog, kinds []*policies.Kind, about func(t reflect.Type, field string) string) ([]byte, error) {
	parts := &Components{Schemas: jsonschema.Schema{}, Names: componentNames, Known: knownTypes, About: about}
	parts.Of(reflect.TypeFor[httpapi.ProblemDetails]())
	documents(parts, c, kinds)
	paths := jsonschema.Schema{}
	for _, e := range web.Operations(c, kinds) {
		method, path, _ := strings.Cut(e.Pattern, " ")
		path = strings.ReplaceAll(path, "{$}", "")
		item, ok := paths[path].(jsonschema.Schema)
		if !ok {
			item = jsonschema.Schema{}
			paths[path] = item
		}
		item[strings.ToLower(method)] = operation(e, method, path, parts)
	}
	text, err := json.MarshalIndent(jsonschema.Schema{"openapi": "3.1.0", "info": jsonschema.Schema{"title": "weft", "version": web.NoVersion},
		"paths": paths, "components": jsonschema.Schema{"schemas": parts.Schemas, "responses": jsonschema.Schema{"Refused": refused}}}, "", "")
	return append(text, '\n'), err
}

// refused is the answer to whatever is not answered otherwise.
var refused = jsonschema.Schema{"description": "Refused: what is wrong, and what to do", "content": jsonschema.Schema{endpoint.OfJSON: jsonschema.Schema{"schema": jsonschema.RefTo("Error")}}}

// documents describes all types of documents.
func documents(parts *Components, c *api.Catalog, kinds []*policies.Kind) {
	of := &schemas.Handlers{Catalog: c, Kinds: kinds}
	parts.Schemas["KubernetesDocument"] = jsonschema.Schema{"description": "One document in the envelope of Kubernetes", "type": "object", "required": []string{"apiVersion", "kind", "metadata"}, "additionalProperties": true,
		"properties": jsonschema.Schema{"apiVersion": jsonschema.Text(), "kind": jsonschema.Text(), "metadata": jsonschema.Schema{"type": "object", "additionalProperties": true}}}
	parts.Schemas["Match"] = match.Schema()
	dataplane, _ := c.Type(api.KindDataplane)
	parts.Schemas["DataplaneSpec"] = of.SpecOf(dataplane)
	alternatives := []jsonschema.Schema{}
	for _, t := range c.Types() {
		t, ok := c.InMesh(t)
		if !ok {
			continue
		}
		parts.Schemas[t.Name] = of.InKuma(t)
		alternatives = append(alternatives, jsonschema.RefTo(t.Name))
	}
	slices.SortFunc(alternatives, func(a, b jsonschema.Schema) int { return strings.Compare(a["$ref"].(string), b["$ref"].(string)) })
	parts.Schemas["Document"] = jsonschema.Schema{"description": "One document of any type", "anyOf": append(alternatives, jsonschema.RefTo("KubernetesDocument"))}
}
