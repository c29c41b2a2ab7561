package endpoint

import (
	_ "embed"
	"strings"

	"github.com/weftmesh/weft/api/jsonschema"
)

// Operation describes one endpoint.
func (e Operation) Operation(method, path string, parts *jsonschema.Components) Schema {
	out := Schema{"summary": e.about, "operationId": operationID(method, path)}
	all := parameters(path)
	for _, p := range e.form.query {
		all = append(all, p.describe())
	}
	if len(all) > 0 {
		out["parameters"] = all
	}
	if content := contentOf(e.form.bodies, parts); len(content) > 0 {
		out["requestBody"] = Schema{"required": true, "content": content}
	}
	responses := Schema{"default": Schema{"$ref": "#/components/responses/Refused"}}
	if content := contentOf(e.form.answers, parts); len(content) > 0 {
		responses["200"] = Schema{"description": "Done", "content": content}
		if e.form.Created {
			responses["201"] = Schema{"description": "Created", "content": content}
		}
	}
	out["responses"] = responses
	return out
}

// contentOf are bodies by their content types; of two of one type the body is one of them.
func contentOf(bodies []media, parts *jsonschema.Components) Schema {
	of := map[string][]Schema{}
	for _, m := range bodies {
		of[m.contentType] = append(of[m.contentType], parts.Of(m.of))
	}
	out := Schema{}
	for contentType, schemas := range of {
		out[contentType] = Schema{"schema": schemas[0]}
		if len(schemas) > 1 {
			out[contentType] = Schema{"schema": Schema{"anyOf": schemas}}
		}
	}
	return out
}

// describe is the parameter as the document has it.
func (p Parameter) describe() Schema {
	out := Schema{"name": p.Name, "in": "query", "description": p.About, "schema": p.Schema}
	if p.Required != "" {
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
func parameters(path string) []Schema {
	var out []Schema
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			out = append(out, Schema{"name": name, "in": "path", "required": true, "description": inPath[name], "schema": jsonschema.Text()})
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
