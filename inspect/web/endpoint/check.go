package endpoint

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Checked is the handler of an endpoint, which is asked only with a query that the endpoint
// describes; all that is wrong with one is told at once. Of a question, parameters that it does
// not know are ignored with a warning, as clients of other versions send them; what writes
// refuses them: one may be a misspelled dryRun.
func (e Operation) Checked() Handler {
	patterns := map[string]*regexp.Regexp{}
	for _, p := range e.Form.Query {
		for _, of := range []Schema{p.item(), p.keys()} {
			if text, ok := of["pattern"].(string); ok {
				patterns[text] = regexp.MustCompile(text)
			}
		}
	}
	asks := strings.HasPrefix(e.Pattern, http.MethodGet) || len(e.Form.Query) == 0
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return httpapi.BadField("", "the query cannot be read: "+err.Error()+"; write each parameter as NAME=VALUE, with other characters as %XX")
		}
		var wrong *multierror.Error
		for _, name := range slices.Sorted(maps.Keys(q)) {
			p, known := e.parameter(name)
			switch {
			case known:
				wrong = multierror.Append(wrong, p.check(name, q[name], patterns)...)
			case asks:
				httpapi.Warn(w, "unknown parameter "+name+" is ignored")
			default:
				wrong = multierror.Append(wrong, httpapi.BadField(name, "unknown parameter; leave it out, or use "+e.names()))
			}
		}
		for _, p := range e.Form.Query {
			if p.Required != "" && !q.Has(p.Name) {
				wrong = multierror.Append(wrong, httpapi.BadField(p.Name, p.Required))
			}
		}
		if err := wrong.ErrorOrNil(); err != nil {
			return err
		}
		return e.handle(w, r)
	}
}

// names are those of the parameters of an endpoint, for people.
func (e Operation) names() string {
	var out []string
	for _, p := range e.Form.Query {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", or ")
}

// parameter is the one of that name; of name[key] the deep one of that name.
func (e Operation) parameter(name string) (Parameter, bool) {
	head, _, deep := strings.Cut(name, "[")
	i := slices.IndexFunc(e.Form.Query, func(p Parameter) bool { return p.Name == head && (p.Deep || !deep) })
	if i < 0 {
		return Parameter{}, false
	}
	return e.Form.Query[i], true
}

// item is the schema of one value.
func (p Parameter) item() Schema {
	for _, key := range []string{"items", "additionalProperties"} {
		if s, ok := p.Schema[key].(Schema); ok {
			return s
		}
	}
	return p.Schema
}

// keys is the schema of the keys of a deep one.
func (p Parameter) keys() Schema {
	s, _ := p.Schema["propertyNames"].(Schema)
	return s
}

// check is what is wrong with the values of a parameter. An empty text is as none.
func (p Parameter) check(name string, values []string, patterns map[string]*regexp.Regexp) (wrong []error) {
	if p.Deep && name == p.Name {
		return []error{httpapi.BadField(name, "the parameter has keys; write it as "+p.Name+"[KEY]=VALUE")}
	}
	if key, ok := strings.CutSuffix(strings.TrimPrefix(name, p.Name+"["), "]"); p.Deep {
		if pattern := patterns[fmt.Sprint(p.keys()["pattern"])]; !ok || pattern != nil && !pattern.MatchString(key) {
			return []error{httpapi.BadField(name, "unknown "+p.Name+"; "+p.About)}
		}
	}
	if p.Schema["type"] != "array" && len(values) > 1 {
		return []error{httpapi.BadField(name, "the parameter is given "+strconv.Itoa(len(values))+" times; give it once")}
	}
	if len(values) > mostValues {
		return []error{httpapi.BadField(name, fmt.Sprintf("the parameter is given %d times; give it %d times at most", len(values), mostValues))}
	}
	for _, v := range values {
		err := checkValue(name, v, p.item(), patterns)
		if err == nil && p.Reads != nil {
			err = p.Reads(v)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// mostValues is how often a parameter may be given at most.
const mostValues = 100

func checkValue(name, value string, s Schema, patterns map[string]*regexp.Regexp) error {
	pattern := patterns[fmt.Sprint(s["pattern"])]
	quoted := strconv.Quote(httpapi.Truncate(value))
	words, few := s["enum"].([]string)
	switch most, bounded := s["maxLength"].(int); {
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return httpapi.BadField(name, "the value is not readable; use UTF-8 without control characters")
	case s["type"] == "integer":
		return checkNumber(name, value, s)
	case s["type"] == "boolean":
		_, err := Flag(url.Values{name: {value}}, name)
		return err
	case bounded && utf8.RuneCountInString(value) > most:
		return httpapi.BadField(name, fmt.Sprintf("the value is longer than %d characters; shorten it", most))
	case value == "":
		return nil
	case few && !slices.Contains(words, value):
		return httpapi.BadField(name, quoted+" is not possible; use "+strings.Join(words, ", "))
	case pattern != nil && !pattern.MatchString(value):
		return httpapi.BadField(name, quoted+" is not of the right form; it has to match "+pattern.String())
	}
	return nil
}

func checkNumber(name, value string, s Schema) error {
	least, most := bound(s, "minimum", math.MinInt64), bound(s, "maximum", math.MaxInt64)
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && n >= least && n <= most {
		return nil
	}
	text := strconv.Quote(httpapi.Truncate(value)) + " is not possible; write a whole number from " + strconv.FormatInt(least, 10)
	if most < math.MaxInt64 {
		text += " to " + strconv.FormatInt(most, 10)
	}
	return httpapi.BadField(name, text)
}

func bound(s Schema, key string, otherwise int64) int64 {
	if n, ok := s[key].(int); ok {
		return int64(n)
	}
	return otherwise
}
