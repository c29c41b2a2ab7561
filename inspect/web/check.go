package web

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checked is the handler of an endpoint, which is asked only with a query that the endpoint
// describes. Of a question, parameters that it does not know are ignored with a warning, as
// clients of other versions send them; what writes refuses them itself.
func (e endpoint) checked() handler {
	patterns := map[string]*regexp.Regexp{}
	for _, p := range e.form.query {
		if text, ok := p.item()["pattern"].(string); ok {
			patterns[p.name] = regexp.MustCompile(text)
		}
	}
	asks := strings.HasPrefix(e.pattern, http.MethodGet) || len(e.form.query) == 0
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return badField("", "the query cannot be read: "+err.Error()+"; write each parameter as NAME=VALUE, with other characters as %XX")
		}
		for name, values := range q {
			p, known := e.parameter(name)
			if !known && asks {
				Warn(w, "unknown parameter "+name+" is ignored")
			}
			if !known {
				continue
			}
			if err := p.check(name, values, patterns[p.name]); err != nil {
				return err
			}
		}
		return e.handle(w, r)
	}
}

// parameter is the one of that name; of name[key] the deep one of that name.
func (e endpoint) parameter(name string) (parameter, bool) {
	head, _, deep := strings.Cut(name, "[")
	i := slices.IndexFunc(e.form.query, func(p parameter) bool { return p.name == head && (p.deep || !deep) })
	if i < 0 {
		return parameter{}, false
	}
	return e.form.query[i], true
}

// item is the schema of one value.
func (p parameter) item() schema {
	for _, key := range []string{"items", "additionalProperties"} {
		if s, ok := p.schema[key].(schema); ok {
			return s
		}
	}
	return p.schema
}

// check refuses values that the parameter cannot have. An empty text is as none.
func (p parameter) check(name string, values []string, pattern *regexp.Regexp) error {
	if p.schema["type"] != "array" && len(values) > 1 {
		return badField(name, "the parameter is given "+strconv.Itoa(len(values))+" times; give it once")
	}
	if p.deep && name == p.name {
		return badField(name, "the parameter has keys; write it as "+p.name+"[KEY]=VALUE")
	}
	if len(values) > mostValues {
		return badField(name, fmt.Sprintf("the parameter is given %d times; give it %d times at most", len(values), mostValues))
	}
	for _, v := range values {
		if err := checkValue(name, v, p.item(), pattern); err != nil {
			return err
		}
	}
	return nil
}

// mostValues is how often a parameter may be given at most.
const mostValues = 100

func checkValue(name, value string, s schema, pattern *regexp.Regexp) error {
	quoted := strconv.Quote(truncate(value))
	words, few := s["enum"].([]string)
	switch most, bounded := s["maxLength"].(int); {
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return badField(name, "the value is not readable; use UTF-8 without control characters")
	case s["type"] == "integer":
		return checkNumber(name, value, s)
	case s["type"] == "boolean":
		_, err := flag(url.Values{name: {value}}, name)
		return err
	case bounded && utf8.RuneCountInString(value) > most:
		return badField(name, fmt.Sprintf("the value is longer than %d characters; shorten it", most))
	case value == "":
		return nil
	case few && !slices.Contains(words, value):
		return badField(name, quoted+" is not possible; use "+strings.Join(words, ", "))
	case pattern != nil && !pattern.MatchString(value):
		return badField(name, quoted+" is not of the right form; it has to match "+pattern.String())
	}
	return nil
}

func checkNumber(name, value string, s schema) error {
	least, most := bound(s, "minimum", math.MinInt64), bound(s, "maximum", math.MaxInt64)
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && n >= least && n <= most {
		return nil
	}
	text := strconv.Quote(truncate(value)) + " is not possible; write a whole number from " + strconv.FormatInt(least, 10)
	if most < math.MaxInt64 {
		text += " to " + strconv.FormatInt(most, 10)
	}
	return badField(name, text)
}

func bound(s schema, key string, otherwise int64) int64 {
	if n, ok := s[key].(int); ok {
		return int64(n)
	}
	return otherwise
}
