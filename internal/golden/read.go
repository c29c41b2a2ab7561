package golden

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds"
)

// Refused is the name of the file of a story that says which of its requests are for the
// simulator alone, a line each: the words of the request, #, and why no Envoy is asked.
const Refused = "simulator-only"

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
		case Refused:
			continue
		case "ext-authz":
			if w.Authorizer, err = xds.ParseAuthorizer(strings.TrimSpace(string(f.Text))); err != nil {
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
	w.Model, _ = w.Compile(world.Snapshot(objects...))
	return w, nil
}

// Asked is a request in a question.
type Asked struct {
	From string // the dataplane
	Text string // the words of the request
	sim.Request
}

// Requests are those that a question is about; none where it is about something else.
func Requests(question string) []Asked {
	verb, rest, _ := strings.Cut(question, ":")
	words := wordsOf(rest)
	if len(words) < 2 {
		return nil
	}
	from, list := words[0], [][]string{words[1:]}
	switch verb {
	case "sim", "goes":
	case "each":
		list = apart(words[1:])
	default:
		return nil
	}
	var out []Asked
	for _, words := range list {
		out = append(out, Asked{from, strings.Join(words, " "), request(words)})
	}
	return out
}

// wordsOf are words between spaces, of which a value in single quotes may have some.
func wordsOf(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		quoted = quoted != (r == '\'')
		return r == ' ' && !quoted
	})
}

// apart are the words of several requests: each begins with a method or a URL.
func apart(words []string) [][]string {
	var out [][]string
	for i, w := range words {
		header := strings.Contains(w, ":") && !isURL(w)
		afterMethod := i > 0 && !strings.Contains(words[i-1], ":")
		if header || afterMethod {
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
func request(words []string) sim.Request {
	q := sim.Request{Headers: sim.Headers{}}
	for _, w := range words {
		name, value, isHeader := strings.Cut(w, ":")
		switch {
		case isURL(w):
			q.URL = w
		case name == "answers":
			q.Answers = value
		case name == "authz":
			q.Authz = value
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
