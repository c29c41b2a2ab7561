package contour

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/route"
)

// inTermsOf is a policy of a route and the code that says it in terms of a kind of policy.
type inTermsOf struct {
	name, kind string
	typ        reflect.Type
	say        func(text string) (map[string]any, error)
	// tried is each field with a value, and what has to stand beside it.
	tried map[string]struct{ beside, with string }
}

// saidBy runs code on a policy as a document has it.
func saidBy[T any](f func(*report, *T) map[string]any) func(string) (map[string]any, error) {
	return func(text string) (map[string]any, error) {
		p, r := new(T), &report{keep: true}
		if err := json.Unmarshal([]byte(text), p); err != nil {
			return nil, err
		}
		out := f(r, p)
		if len(r.faults) > 0 {
			return nil, fmt.Errorf("%s: %s", text, r.faults[0].message)
		}
		return out, nil
	}
}

var inline = []inTermsOf{
	{"timeoutPolicy", (*route.Timeouts).Kind(nil), reflect.TypeFor[TimeoutPolicy](),
		saidBy(func(r *report, p *TimeoutPolicy) map[string]any { return timeouts(r, p, "p").Fields() }),
		map[string]struct{ beside, with string }{
			"response":       {`{}`, `{"response": "1s"}`},
			"idle":           {`{}`, `{"idle": "1s"}`},
			"idleConnection": {`{}`, `{"idleConnection": "1s"}`},
		}},
	{"retryPolicy", (*route.Retry).Kind(nil), reflect.TypeFor[RetryPolicy](),
		saidBy(func(r *report, p *RetryPolicy) map[string]any { return retries(r, p, "p").Fields() }),
		map[string]struct{ beside, with string }{
			"count":                {`{}`, `{"count": 2}`},
			"perTryTimeout":        {`{}`, `{"perTryTimeout": "1s"}`},
			"retryOn":              {`{}`, `{"retryOn": ["reset"]}`},
			"retriableStatusCodes": {`{"retryOn": ["retriable-status-codes"]}`, `{"retryOn": ["retriable-status-codes"], "retriableStatusCodes": [503]}`},
		}},
	{"rateLimitPolicy.local", (*route.RateLimit).Kind(nil), reflect.TypeFor[LocalRateLimit](),
		saidBy(func(r *report, p *LocalRateLimit) map[string]any {
			return limit(r, &RateLimitPolicy{Local: p}, "p", routeError).Fields()
		}),
		map[string]struct{ beside, with string }{
			"requests":             {`{"requests": 1, "unit": "second"}`, `{"requests": 2, "unit": "second"}`},
			"unit":                 {`{"requests": 1, "unit": "second"}`, `{"requests": 1, "unit": "minute"}`},
			"burst":                {`{"requests": 1, "unit": "second"}`, `{"requests": 1, "unit": "second", "burst": 3}`},
			"responseStatusCode":   {`{"requests": 1, "unit": "second"}`, `{"requests": 1, "unit": "second", "responseStatusCode": 503}`},
			"responseHeadersToAdd": {`{"requests": 1, "unit": "second"}`, `{"requests": 1, "unit": "second", "responseHeadersToAdd": [{"name": "a", "value": "b"}]}`},
		}},
}

// mappedFields is the table of what becomes a part of a policy: what the code makes of each
// field is looked at, with and without it.
func mappedFields(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, p := range inline {
		for i := range p.typ.NumField() {
			field, _, _ := strings.Cut(p.typ.Field(i).Tag.Get("json"), ",")
			try, ok := p.tried[field]
			if !ok {
				t.Fatalf("nobody tries what becomes of %s.%s", p.name, field)
			}
			without, err := p.say(try.beside)
			if err != nil {
				t.Fatal(err)
			}
			with, err := p.say(try.with)
			if err != nil {
				t.Fatal(err)
			}
			var become []string
			for _, key := range slices.Sorted(maps.Keys(with)) {
				if !reflect.DeepEqual(with[key], without[key]) {
					become = append(become, "`"+key+"`")
				}
			}
			if len(become) == 0 {
				t.Fatalf("%s.%s becomes nothing", p.name, field)
			}
			fmt.Fprintf(&b, "| `%s.%s` | %s %s |\n", p.name, field, p.kind, strings.Join(become, ", "))
		}
	}
	return b.String()
}

// everyField is the table of all fields that are read, by where they stand.
func everyField() string {
	var b strings.Builder
	seen := map[reflect.Type]bool{}
	var walk func(at string, typ reflect.Type)
	walk = func(at string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		var carried, not []string
		var below []func()
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			switch {
			case name == "":
				continue
			case isLacking(name):
				not = append(not, "`"+name+"`")
				continue
			}
			carried = append(carried, "`"+name+"`")
			path, of := at+name, typ.Field(i).Type
			for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
				if of.Kind() == reflect.Slice {
					path += "[]"
				}
				of = of.Elem()
			}
			if of.Kind() == reflect.Struct {
				below = append(below, func() { walk(path+".", of) })
			}
		}
		fmt.Fprintf(&b, "| `spec%s` | %s | %s |\n", strings.TrimSuffix("."+at, "."), strings.Join(carried, " "), strings.Join(not, " "))
		for _, f := range below {
			f()
		}
	}
	walk("", reflect.TypeFor[HTTPProxy]())
	return b.String()
}

func isLacking(field string) bool {
	return slices.ContainsFunc(lacking, func(l lack) bool { return l.field == field })
}
