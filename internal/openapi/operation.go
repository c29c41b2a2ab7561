package openapi

import (
	"strings"

	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/inspect/web/endpoint"
)

// operation describes one endpoint.
func operation(e endpoint.Operation, method, path string, parts *Components) jsonschema.Schema {
	out := jsonschema.Schema{"summary": e.About, "operationId": operationID(method, path)}
	all := parameters(path)
	for _, p := range e.Form.Query {
		all = append(all, parameter(p))
	}
	if len(all) > 0 {
		out["parameters"] = all
	}
	if content := contentOf(e.Form.Bodies, parts); len(content) > 0 {
		out["requestBody"] = jsonschema.Schema{"required": true, "content": content}
	}
	responses := jsonschema.Schema{"default": jsonschema.Schema{"$ref": "#/components/responses/Refused"}}
	if content := contentOf(e.Form.Answers, parts); len(content) > 0 {
		responses["200"] = jsonschema.Schema{"description": "Done", "content": content}
		if e.Form.Created {
			responses["201"] = jsonschema.Schema{"description": "Created", "content": content}
		}
	}
	out["responses"] = responses
	return out
}

// contentOf are bodies by their content types; of two of one type the body is one of them.
func contentOf(bodies []endpoint.Media, parts *Components) jsonschema.Schema {
	of := map[string][]jsonschema.Schema{}
	for _, m := range bodies {
		of[m.ContentType] = append(of[m.ContentType], parts.Of(m.Of))
	}
	out := jsonschema.Schema{}
	for contentType, schemas := range of {
		out[contentType] = jsonschema.Schema{"schema": schemas[0]}
		if len(schemas) > 1 {
			out[contentType] = jsonschema.Schema{"schema": jsonschema.Schema{"anyOf": schemas}}
		}
	}
	return out
}

// parameter is one as the document has it.
func parameter(p endpoint.Parameter) jsonschema.Schema {
	out := jsonschema.Schema{"name": p.Name, "in": "query", "description": p.About, "schema": p.Schema}
	if p.Required != "" {
		out["required"] = true
	}
	if p.Deep {
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
func parameters(path string) []jsonschema.Schema {
	var out []jsonschema.Schema
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			out = append(out, jsonschema.Schema{"name": name, "in": "path", "required": true, "description": inPath[name], "schema": jsonschema.Text()})
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
