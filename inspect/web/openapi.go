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
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
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
	httpapi.Write(w, http.StatusOK, ofJSON, bytes.Replace(description, []byte(`"version": "`+noVersion+`"`), said, 1))
	return nil
}

// componentNames are of types that are called alike, or in Go alone as they are.
var componentNames = map[reflect.Type]string{
	reflect.TypeFor[httpapi.Problem]():     "Error",
	reflect.TypeFor[applied]():             "Applied",
	reflect.TypeFor[accepted]():            "Accepted",
	reflect.TypeFor[planned]():             "Plan",
	reflect.TypeFor[answering]():           "About",
	reflect.TypeFor[overview]():            "DataplaneOverview",
	reflect.TypeFor[insight]():             "DataplaneInsight",
	reflect.TypeFor[discovery]():           "DiscoveryStatus",
	reflect.TypeFor[counters]():            "DiscoveryCounts",
	reflect.TypeFor[counts]():              "GlobalCounts",
	reflect.TypeFor[total]():               "GlobalTotal",
	reflect.TypeFor[result]():              "Result",
	reflect.TypeFor[resource]():            "ResourceType",
	reflect.TypeFor[policyInfo]():          "ResourceTypePolicy",
	reflect.TypeFor[Token]():               "Token",
	reflect.TypeFor[sidecarPage]():         "SidecarList",
	reflect.TypeFor[sidecarRow]():          "Sidecar",
	reflect.TypeFor[conditions.Overview](): "MeshStatus",
	reflect.TypeFor[conditions.Owner]():    "ProblemOwner",
	reflect.TypeFor[conditions.Counts]():   "DataplaneCounts",
	reflect.TypeFor[kuma.Counts]():         "InsightCounts",
	reflect.TypeFor[kuma.Total]():          "InsightTotal",
	reflect.TypeFor[kuma.Versions]():       "InsightVersions",
	reflect.TypeFor[kuma.Name]():           "DataplaneName",
	reflect.TypeFor[kuma.Zone]():           "ZoneName",
	reflect.TypeFor[plan.Route]():          "PlanRoute",
	reflect.TypeFor[plan.Inbound]():        "PlanInbound",
	reflect.TypeFor[plan.Dataplanes]():     "PlanDataplanes",
	reflect.TypeFor[plan.Resource]():       "EnvoyResource",
	reflect.TypeFor[plan.Field]():          "EnvoyField",
	reflect.TypeFor[sim.Route]():           "VerdictRoute",
	reflect.TypeFor[sim.Inbound]():         "CalledInbound",
	reflect.TypeFor[sim.Policy]():          "EffectivePolicy",
	reflect.TypeFor[sim.Said]():            "Opinion",
	reflect.TypeFor[sim.Request]():         "SimulationRequest",
	reflect.TypeFor[sim.EndOfAll]():        "EndOfAttempts",
	reflect.TypeFor[explain.Shown]():       "EdgeTLS",
	reflect.TypeFor[conditions.Unread]():   "UnreadDocument",
	reflect.TypeFor[explain.Unmatched]():   "UnmatchedObject",
}

// knownTypes are of texts of which there are few, and types that write themselves.
var knownTypes = map[reflect.Type]schema{
	reflect.TypeFor[api.Severity]():      oneOf(string(api.Error), string(api.Warning), string(api.Info)),
	reflect.TypeFor[store.Action]():      oneOf(string(store.Created), string(store.Updated), string(store.Unchanged), string(store.Deleted), string(store.Missing)),
	reflect.TypeFor[sim.Outcome]():       oneOf(string(sim.Forward), string(sim.Redirect), string(sim.Respond), string(sim.Passthrough), string(sim.Close), string(sim.Reset)),
	reflect.TypeFor[inspect.State]():     stateSchema,
	reflect.TypeFor[plan.AccessChange](): oneOf(string(plan.Widens), string(plan.Both), string(plan.MayWiden), string(plan.Narrows)),
	reflect.TypeFor[mtls.PhaseName]():    oneOf("Off", "Certificates", "Switching", "Permissive", "Hardening", "Strict"),
	reflect.TypeFor[sim.Headers]():       jsonschema.MapOf(jsonschema.Text()),
	reflect.TypeFor[Document]():          jsonschema.RefTo("Document"),
	reflect.TypeFor[struct{}]():          jsonschema.Closed(schema{}),
	reflect.TypeFor[route.Match]():       jsonschema.RefTo("Match"),
	reflect.TypeFor[api.Spec]():          jsonschema.RefTo("DataplaneSpec"), // of overviews alone
	reflect.TypeFor[map[string]any]():    {"type": "object", "additionalProperties": true},
}

// Describe is the OpenAPI document of the API with the types of a catalog, as it is
// embedded; about says what types and their fields are for.
func Describe(c *api.Catalog, kinds []*policies.Kind, about func(t reflect.Type, field string) string) ([]byte, error) {
	s := newServer(Config{Catalog: c, Kinds: kinds})
	parts := &jsonschema.Components{Schemas: schema{}, Names: componentNames, Known: knownTypes, About: about}
	parts.Of(reflect.TypeFor[httpapi.Problem]())
	s.documents(parts)
	paths := schema{}
	for _, e := range s.routes() {
		method, path, _ := strings.Cut(e.pattern, " ")
		path = strings.ReplaceAll(path, "{$}", "")
		item, ok := paths[path].(schema)
		if !ok {
			item = schema{}
			paths[path] = item
		}
		item[strings.ToLower(method)] = e.operation(method, path, parts)
	}
	text, err := json.MarshalIndent(schema{"openapi": "3.1.0", "info": schema{"title": "weft", "version": noVersion},
		"paths": paths, "components": schema{"schemas": parts.Schemas, "responses": schema{"Refused": refused}}}, "", "")
	return append(text, '\n'), err
}

// refused is the answer to whatever is not answered otherwise.
var refused = schema{"description": "Refused: what is wrong, and what to do", "content": schema{ofJSON: schema{"schema": jsonschema.RefTo("Error")}}}

// operation describes one endpoint.
func (e endpoint) operation(method, path string, parts *jsonschema.Components) schema {
	out := schema{"summary": e.about, "operationId": operationID(method, path)}
	all := parameters(path)
	for _, p := range e.form.query {
		all = append(all, p.describe())
	}
	if len(all) > 0 {
		out["parameters"] = all
	}
	if content := contentOf(e.form.bodies, parts); len(content) > 0 {
		out["requestBody"] = schema{"required": true, "content": content}
	}
	responses := schema{"default": schema{"$ref": "#/components/responses/Refused"}}
	if content := contentOf(e.form.answers, parts); len(content) > 0 {
		responses["200"] = schema{"description": "Done", "content": content}
		if e.form.created {
			responses["201"] = schema{"description": "Created", "content": content}
		}
	}
	out["responses"] = responses
	return out
}

// contentOf are bodies by their content types; of two of one type the body is one of them.
func contentOf(bodies []media, parts *jsonschema.Components) schema {
	of := map[string][]schema{}
	for _, m := range bodies {
		of[m.contentType] = append(of[m.contentType], parts.Of(m.of))
	}
	out := schema{}
	for contentType, schemas := range of {
		out[contentType] = schema{"schema": schemas[0]}
		if len(schemas) > 1 {
			out[contentType] = schema{"schema": schema{"anyOf": schemas}}
		}
	}
	return out
}

// describe is the parameter as the document has it.
func (p parameter) describe() schema {
	out := schema{"name": p.name, "in": "query", "description": p.about, "schema": p.schema}
	if p.required != "" {
		out["required"] = true
	}
	if p.deep {
		out["style"], out["explode"] = "deepObject", true
	}
	return out
}

// inPath says what the parameters in paths are.
var inPath = map[string]string{
	"mesh": "The name of a mesh", "plural": "A type of documents, as GET /_resources has its path", "name": "The name of an object, or NAME.NAMESPACE",
	"kind": "The name of a type and .json", "kri": "A KRI, such as kri_mr_default___retry-1_", "route": "The KRI of a route",
	"group": "A group of the Kubernetes API, or core", "version": "A version of the group", "namespace": "A namespace",
}

// parameters are those in the braces of a path.
func parameters(path string) []schema {
	var out []schema
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			out = append(out, schema{"name": name, "in": "path", "required": true, "description": inPath[name], "schema": jsonschema.Text()})
		}
	}
	return out
}

// operationID is a name for programs that are made from the description: the method, and
// the words of the path.
func operationID(method, path string) string {
	out := strings.ToLower(method)
	for _, word := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/{}-+.", r) }) {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// documents describes all types of documents.
func (s *server) documents(parts *jsonschema.Components) {
	parts.Schemas["KubernetesDocument"] = schema{"description": "One document in the envelope of Kubernetes", "type": "object", "required": []string{"apiVersion", "kind", "metadata"}, "additionalProperties": true,
		"properties": schema{"apiVersion": jsonschema.Text(), "kind": jsonschema.Text(), "metadata": schema{"type": "object", "additionalProperties": true}}}
	parts.Schemas["Match"] = route.MatchSchema()
	dataplane, _ := s.Catalog.Type(api.KindDataplane)
	parts.Schemas["DataplaneSpec"] = s.schemas.specOf(dataplane)
	alternatives := []schema{}
	for _, t := range s.Catalog.Types() {
		t, ok := s.Catalog.InMesh(t)
		if !ok {
			continue
		}
		parts.Schemas[t.Name] = s.schemas.inKuma(t)
		alternatives = append(alternatives, jsonschema.RefTo(t.Name))
	}
	slices.SortFunc(alternatives, func(a, b schema) int { return strings.Compare(a["$ref"].(string), b["$ref"].(string)) })
	parts.Schemas["Document"] = schema{"description": "One document of any type", "anyOf": append(alternatives, jsonschema.RefTo("KubernetesDocument"))}
}
