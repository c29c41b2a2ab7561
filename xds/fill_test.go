package xds_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestFilledHeadersInEnvoy: requests are filled with the first line of what came, but for
// what is removed; answers with what went on; where nothing comes out nothing is changed. What is added is one more
// line beside those that came.
func TestFilledHeadersInEnvoy(t *testing.T) {
	t.Parallel()
	fill := func(name string, parts ...route.Part) route.Filled { return route.Filled{Name: name, Parts: parts} }
	of := func(name string) route.Part { return route.Part{Header: name} }
	r := rule("r", path(match.SegmentPrefix, "/"),
		route.Filter{RequestHeaders: &route.HeaderModifier{
			Set: []route.Header{{Name: "x-from", Value: "new"}},
			Fill: []route.Filled{
				fill("x-first", of("x-from")), fill("x-kept", of("x-none")), fill("x-between", route.Part{Text: "100%-"}, of("x-none"), route.Part{Text: "-"}),
				fill("x-late", of("x-gone")), fill("x-host", of("host")), fill("x-facts", route.Part{Fact: route.OfProtocol}, of("x-from")),
				{Name: "x-via", Parts: []route.Part{{Text: "by-"}, of("host")}, Add: true},
			},
			Remove: []string{"x-gone"},
		}},
		route.Filter{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "x-over", Value: "1"}}}},
		route.Filter{RequestHeaders: &route.HeaderModifier{Fill: []route.Filled{fill("x-over", of("x-none"))}}},
		route.Filter{ResponseHeaders: &route.HeaderModifier{Fill: []route.Filled{fill(envoytest.BackHeader, of("x-none")), fill("x-b", of("x-from"), of("x-late"))}}},
	)
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(table(r)))
	got, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "web", Path: "/", Headers: http.Header{"X-From": {"1", "2"}, "X-Kept": {"mine"}, "X-Gone": {"g"}, "X-Via": {"before"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"X-From": {"new"}, "X-First": {"1"}, "X-Kept": {"mine"}, "X-Between": {"100%--"}, "X-Late": nil, "X-Gone": nil, "X-Host": {"web"}, "X-Facts": {"HTTP/1.11"}, "X-Over": {"1"}, "X-Via": {"before", "by-web"},
	}
	have := map[string][]string{}
	for name := range want {
		have[name] = got.Attempts[0].Headers[name]
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("request headers (-want +got):\n%s", d)
	}
	if b := got.Headers.Get("X-B"); b != "new" || got.Headers.Get(envoytest.BackHeader) != "b" {
		t.Errorf("headers of the answer %v, want x-b: new, and the own x-back", got.Headers)
	}
}

// TestFactsInEnvoy: Envoy takes every fact in requests and in answers.
func TestFactsInEnvoy(t *testing.T) {
	t.Parallel()
	m := &route.HeaderModifier{}
	for _, f := range route.Facts {
		m.Fill = append(m.Fill, route.Filled{Name: "x-fact", Parts: []route.Part{{Text: "%"}, {Fact: f}}})
	}
	r := rule("r", path(match.SegmentPrefix, "/"), route.Filter{RequestHeaders: m}, route.Filter{ResponseHeaders: m})
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(table(r)))
	got, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "web", Path: "/"})
	if err != nil || len(got.Attempts) != 1 || len(got.Attempts[0].Headers["X-Fact"]) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}
