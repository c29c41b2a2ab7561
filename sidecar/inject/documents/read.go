package documents

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// most is the size in bytes that one document may have: what an API server takes.
const most = 3 << 20

// object is the head of one document, and its text as JSON.
type object struct {
	metav1.TypeMeta
	Type     any               `json:"type"` // of Kuma's own envelope
	Name     any               `json:"name"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	source   api.Source
	json     json.RawMessage
}

// read reads one document, or the items of a List. It reads YAML as the API server's
// clients do, so that what they take for a truth value is one here.
func read(source api.Source, namespace string) (part, *api.Violation) {
	p := part{Source: source, printed: source.Text}
	wrong := func(line int, message string) (part, *api.Violation) {
		return p, &api.Violation{Position: api.Position{File: source.File, Line: line, Column: 1}, Code: "Syntax", Severity: api.Error, Message: message}
	}
	if len(source.Text) > most {
		return wrong(source.Line, "the document has "+strconv.Itoa(len(source.Text))+" bytes; at most "+strconv.Itoa(most)+" are allowed")
	}
	text, err := yaml.YAMLToJSONStrict(source.Text)
	if err != nil {
		line, message := lineOf(err)
		return wrong(source.Line+line, "the text is not valid YAML: "+message+"; correct it")
	}
	if !strings.HasPrefix(string(text), "{") {
		return wrong(source.Line, "the document is no map; write one that begins with apiVersion:")
	}
	p.json = text
	var list struct {
		metav1.TypeMeta
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err == nil && list.Kind == "List" {
		for i, item := range list.Items {
			s := source
			s.Item = api.Path("items").Index(i)
			o, wrong := head(s, item, namespace)
			if wrong != nil {
				return p, wrong
			}
			p.objects = append(p.objects, o)
		}
		return p, nil
	}
	o, bad := head(source, text, namespace)
	if bad != nil {
		return p, bad
	}
	p.objects = []object{o}
	return p, nil
}

// head reads what a document says of itself.
func head(source api.Source, text []byte, namespace string) (object, *api.Violation) {
	o := object{source: source, json: text}
	if err := json.Unmarshal(text, &o); err != nil {
		v := mistyped(err)
		v.Position = syntax.Locate(source, v.Field)
		return o, v
	}
	if o.Metadata.Namespace == "" {
		o.Metadata.Namespace = namespace
	}
	return o, nil
}

// mistyped is an error of JSON as the violation of a field.
func mistyped(err error) *api.Violation {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return api.Path(typ.Field).Breaks("a value that is a %s stands where a %s belongs; put text in quotes, and give each field its type", typ.Value, typ.Type)
	}
	return api.Path("").Breaks("%s; correct it", err.Error())
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// lineOf is the line of an error of the parser, from 0, and what it says.
func lineOf(err error) (int, string) {
	message := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")), " ")
	line := 0
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits
		line, message = max(n-1, 0), strings.Replace(message, m[0], "", 1)
	}
	return line, strings.TrimPrefix(strings.TrimPrefix(message, "yaml: "), "unmarshal errors: ")
}
