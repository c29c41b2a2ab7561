package golden

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/filters"
)

// SimulatorOnly is the name of the file of a story that says which of its requests are for the
// simulator alone, a line each: the words of the request, #, and why no Envoy is asked.
const SimulatorOnly = "simulator-only"

// World is what the documents of a story make.
type World struct {
	world.Settings
	*resolve.Model
	Violations []*api.Violation
}

// Read reads the documents of a story, and what stands beside them.
func Read(docs []File) (*World, error) {
	w := &World{}
	var objects []*api.Object
	for _, f := range docs {
		var err error
		switch f.Name {
		case SimulatorOnly:
			continue
		case "ext-authz":
			if w.Authorizer, err = filters.ParseAuthorizer(strings.TrimSpace(string(f.Text))); err != nil {
				return nil, err
			}
			continue
		case "secrets":
			if f.Text, err = secrets(string(f.Text)); err != nil {
				return nil, err
			}
		}
		o, v := world.Decode(f.Name, f.Text)
		objects, w.Violations = append(objects, o...), append(w.Violations, v...)
	}
	objects, found := admission.WithSidecars(snapshot.New(0), objects)
	w.Violations = append(w.Violations, found...)
	w.Model, _ = w.Compile(world.Snapshot(objects...))
	return w, nil
}

// Asked is a request in a question.
type Asked struct {
	From string // the dataplane
	Text string // the words of the request
	wire.Request
}

// Requests are those that a question is about, at least one; none where it is about
// something else. The error says what no request can be read of.
func Requests(question string) ([]Asked, error) {
	verb, rest, _ := strings.Cut(question, ":")
	if verb != "sim" && verb != "goes" && verb != "each" {
		return nil, nil
	}
	words, err := wordsOf(rest)
	if err != nil {
		return nil, err
	}
	if len(words) < 2 {
		return nil, fmt.Errorf("%q names no dataplane and request; write %s: DATAPLANE [METHOD] URL", question, verb)
	}
	from, list := words[0], [][]string{words[1:]}
	if verb == "each" {
		list = apart(words[1:])
	}
	var out []Asked
	for _, words := range list {
		q, text := request(words), strings.Join(words, " ")
		if q.URL == "" {
			return nil, fmt.Errorf("%q has no URL; write [METHOD] URL and then headers", text)
		}
		out = append(out, Asked{from, text, q})
	}
	return out, nil
}

// wordsOf are words between spaces, of which a value in single quotes may have some.
func wordsOf(text string) ([]string, error) {
	if strings.Count(text, "'")%2 != 0 {
		return nil, fmt.Errorf("a single quote in %q has no second one; write two around a value with spaces", strings.TrimSpace(text))
	}
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		quoted = quoted != (r == '\'')
		return r == ' ' && !quoted
	}), nil
}

// apart are the words of several requests: each begins with a method or a URL.
func apart(words []string) [][]string {
	var out [][]string
	for i, w := range words {
		header := strings.Contains(w, ":") && !isURL(w)
		afterMethod := i > 0 && !strings.Contains(words[i-1], ":")
		if i > 0 && (header || afterMethod) {
			out[len(out)-1] = append(out[len(out)-1], w)
		} else {
			out = append(out, []string{w})
		}
	}
	return out
}

// isURL tells a URL from a header, whose value may be one.
func isURL(word string) bool {
	_, rest, ok := strings.Cut(word, ":")
	return ok && strings.HasPrefix(rest, "//")
}

// request reads the words of one.
func request(words []string) wire.Request {
	q := wire.Request{Headers: wire.Headers{}}
	for _, w := range words {
		name, value, isHeader := strings.Cut(w, ":")
		switch {
		case isURL(w):
			q.URL = w
		case name == "answers":
			q.Answers = value
		case name == "authz":
			q.Authz = value
		case name == "sni":
			q.SNI = value
		case name == "token":
			q.Headers.Add("authorization", envoytest.Token(value))
		case isHeader:
			q.Headers.Add(name, strings.Trim(value, "'"))
		default:
			q.Method = w
		}
	}
	return q
}
