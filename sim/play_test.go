package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// lineText is a timeline in one line: when each attempt may begin and how it
// ends, then how the request may end.
func lineText(l timeline.Timeline) string {
	var parts []string
	for _, t := range l.Tries {
		parts = append(parts, fmt.Sprintf("%v..%v %s %d", t.Earliest, t.Latest, t.Ended, t.Status))
	}
	for _, e := range l.Ends {
		parts = append(parts, fmt.Sprintf("%s %d after %d at %v..%v", e.By, e.Status, e.Attempts, e.Earliest, e.Latest))
	}
	return strings.Join(parts, "; ")
}

func TestTimelines(t *testing.T) {
	t.Parallel()
	second := api.Duration(time.Second)
	bounds := func(request, idle api.Duration) *timeout.Conf {
		return &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &request, StreamIdleTimeout: &idle}}
	}
	again := func(n uint32, perTry, base, longest api.Duration) *retry.HTTP {
		return &retry.HTTP{NumRetries: &n, PerTryTimeout: &perTry, RetryOn: []string{"5xx"}, BackOff: &retry.BackOff{BaseInterval: &base, MaxInterval: &longest}}
	}
	for name, c := range map[string]struct {
		times   *timeout.Conf
		retries *retry.HTTP
		script  []timeline.BackendResponse
		want    string
	}{
		"back-off doubles up to its bound": {nil, again(4, 0, second, 3*second), []timeline.BackendResponse{{Status: 503}},
			"0s..0s answer 503; 0s..1s answer 503; 0s..3s answer 503; 0s..6s answer 503; 0s..9s answer 503; answer 503 after 5 at 0s..9s"},
		"attempts take their time": {nil, again(1, 0, second, second), []timeline.BackendResponse{{Status: 503, Delay: 2 * time.Second}, {Status: 200, Delay: time.Second}},
			"0s..0s answer 503; 2s..3s answer 200; answer 200 after 2 at 3s..4s"},
		"one attempt is cut": {nil, again(1, second, second, second), []timeline.BackendResponse{{Status: 200, Delay: 2 * time.Second}},
			"0s..0s perTryTimeout 504; 1s..2s perTryTimeout 504; perTryTimeout 504 after 2 at 2s..3s"},
		"the request is cut": {bounds(2*second, 0), nil, []timeline.BackendResponse{{Status: 200, Delay: 3 * time.Second}},
			"0s..0s requestTimeout 504; requestTimeout 504 after 1 at 2s..2s"},
		"the shorter bound fires": {bounds(5*second, 2*second), nil, []timeline.BackendResponse{{Status: 200, Delay: 9 * time.Second}},
			"0s..0s streamIdleTimeout 504; streamIdleTimeout 504 after 1 at 2s..2s"},
		"chance decides whether the back-off is too long": {bounds(2*second, 0), again(1, 0, 3*second, 3*second), []timeline.BackendResponse{{Status: 503, Delay: time.Second}, {Status: 200}},
			"0s..0s answer 503; 1s..2s answer 200; requestTimeout 504 after 1 at 2s..2s; requestTimeout 504 after 2 at 2s..2s; answer 200 after 2 at 1s..2s"},
		"a connection is refused": {nil, again(1, 0, second, second), []timeline.BackendResponse{{Refuse: true}, {Reset: true, Delay: time.Second}},
			"0s..0s refused 503; 0s..1s reset 503; reset 503 after 2 at 1s..2s"},
		"without a policy once": {nil, nil, []timeline.BackendResponse{{Reset: true}}, "0s..0s reset 503; reset 503 after 1 at 0s..0s"},
		"numRetries 0 is off":   {nil, again(0, second, second, second), []timeline.BackendResponse{{Status: 503, Delay: 2 * time.Second}}, "0s..0s answer 503; answer 503 after 1 at 2s..2s"},
	} {
		r := under(api.HTTP)
		rt := r.Outbounds[0].Table.Routes[0]
		if c.times != nil {
			rt.Policies = append(rt.Policies, policyOf(timeout.Kind, c.times))
		}
		if c.retries != nil {
			rt.Policies = append(rt.Policies, policyOf(retry.Kind, &retry.Conf{HTTP: c.retries}))
		}
		line, err := playing(r, wire.Request{URL: "http://web:8080/"}, func(n int) timeline.BackendResponse { return c.script[min(n, len(c.script)-1)] })
		if got := lineText(line); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwanted\n%s", name, err, got, c.want)
		}
	}
}

// TestAttemptsThatAreNotRepeated: what may not be repeated, for its headers or its
// body, has one attempt, which perTryTimeout bounds all the same. That a long body is
// repeated if it fails early is announced, and only where it may.
func TestAttemptsThatAreNotRepeated(t *testing.T) {
	t.Parallel()
	second := api.Duration(time.Second)
	r := under(api.HTTP, policyOf(retry.Kind, &retry.Conf{HTTP: &retry.HTTP{NumRetries: ptr[uint32](2), PerTryTimeout: &second, RetryOn: []string{"5xx", "HttpMethodGet"}}}))
	for _, c := range []struct {
		method    string
		body      int64
		answers   string
		want      string
		announced bool
	}{
		{"POST", 0, "503", "answer 503 after 1", false},
		{"POST", 0, "200@2s", "perTryTimeout 504 after 1", false},
		{"GET", wire.MaxRepeated, "200@2s", "perTryTimeout 504 after 3", false},
		{"GET", wire.MaxRepeated + 1, "200", "answer 200 after 1", false},
		{"GET", wire.MaxRepeated + 1, "503", "answer 503 after 1", true},
		{"GET", wire.MaxRepeated + 1, "200@2s", "perTryTimeout 504 after 1", true},
		{"POST", wire.MaxRepeated + 1, "503", "answer 503 after 1", false},
	} {
		v, err := run(r, wire.Request{Method: c.method, URL: "http://web:8080/", Body: c.body, Answers: c.answers})
		if err != nil {
			t.Fatal(err)
		}
		e := v.Branches[0].Ends[0]
		if got := fmt.Sprintf("%s %d after %d", e.By, e.Status, e.Attempts); got != c.want {
			t.Errorf("%+v ends by %s", c, got)
		}
		if got := strings.Contains(strings.Join(v.Unknown, "\n"), "507"); got != c.announced {
			t.Errorf("%+v announces %q", c, v.Unknown)
		}
	}
}

func TestNothingIsAttemptedWhereNothingIsForwarded(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*effective.Resolved{
		"lost":     shop(everything(lost(1))),
		"redirect": shop(&effective.Route{Answer: &route.Redirect{}, Backends: []effective.Backend{to("v1", 1)}}),
	} {
		if _, err := playing(r, wire.Request{URL: "http://web:8080/"}, nil); err == nil || !strings.Contains(err.Error(), "not forwarded") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := playing(shop(), wire.Request{URL: "http://nowhere/"}, nil); err == nil {
		t.Error("an unknown host is attempted")
	}
}

func TestReasonsOfMisses(t *testing.T) {
	t.Parallel()
	q := wire.Request{Method: "GET", URL: "http://web:8080/v1/items?a=1", Headers: wire.Headers{"x-user": "7", "x-list": "1\n2"}}
	header := func(op match.Op, name, value string) match.Condition {
		return matches.On(match.OnHeader, op, name, value)
	}
	query := func(op match.Op, name, value string) match.Condition {
		return matches.On(match.OnQuery, op, name, value)
	}
	for want, m := range map[string]match.Condition{
		"path /v1/items is not /v1":                                         exact("/v1"),
		"path /v1/items is not under prefix /v2":                            prefix("/v2"),
		"path /v1/items is not under prefix /v1/item":                       prefix("/v1/item"),
		"path /v1/items does not match the expression /v[2-9].*":            regex("/v[2-9].*"),
		"method GET is not POST":                                            matches.Method("POST"),
		"header x-none is missing":                                          header(match.Equal, "x-none", "1"),
		"header x-user is present":                                          matches.Absent("x-user"),
		`header x-user is "7", not "8"`:                                     header(match.Equal, "x-user", "8"),
		`header x-list is "1" and "2", not "1,2"`:                           header(match.Equal, "x-list", "1,2"),
		`header x-user is "7", which does not begin with "8"`:               header(match.BytePrefix, "x-user", "8"),
		`header x-user is "7", which does not match the expression [a-z]`:   header(match.FullMatch, "x-user", "[a-z]"),
		"query parameter b is missing":                                      query(match.Equal, "b", ""),
		`query parameter a is "1", not "2"`:                                 query(match.Equal, "a", "2"),
		`query parameter a is "1", which does not match the expression [a]`: query(match.FullMatch, "a", "[a]"),
	} {
		v, err := run(shop(&effective.Route{Key: "it", Match: matches.Of(m)}, everything(to("v1", 1))), q)
		if err != nil || len(v.Missed) != 1 || v.Missed[0].Reason != want {
			t.Errorf("%v: %+v, wanted %s", err, v.Missed, want)
		}
	}
}

func TestOwnAnswers(t *testing.T) {
	t.Parallel()
	grpc := wire.Headers{"content-type": "application/grpc+proto"}
	for name, c := range map[string]struct {
		routes []*effective.Route
		q      wire.Request
		want   string
	}{
		"unknown method":    {nil, wire.Request{Method: "FOO"}, "400"},
		"no path":           {[]*effective.Route{everything(to("v1", 1))}, wire.Request{URL: `http://web:8080\x`}, "400"},
		"upgrade":           {[]*effective.Route{everything(to("v1", 1))}, wire.Request{Headers: wire.Headers{"Connection": "keep-alive, upgrade", "Upgrade": "websocket, other"}}, "403"},
		"empty upgrade":     {[]*effective.Route{everything(lost(1))}, wire.Request{Headers: wire.Headers{"Connection": "Upgrade", "Upgrade": ""}}, "403"},
		"upgrade, no route": {nil, wire.Request{Headers: wire.Headers{"Connection": "upgrade", "Upgrade": "other"}}, "404"},
		"websocket":         {nil, wire.Request{Headers: wire.Headers{"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket"}}, "404"},
		"h2c":               {nil, wire.Request{Headers: wire.Headers{"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c"}}, "404"},
		"half an upgrade":   {nil, wire.Request{Headers: wire.Headers{"Upgrade": "websocket"}}, "404"},
		"its other half":    {nil, wire.Request{Headers: wire.Headers{"Connection": "Upgrade"}}, "404"},
		"connect":           {[]*effective.Route{everything(to("v1", 1))}, wire.Request{Method: "CONNECT"}, "404"},
		"no route":          {nil, wire.Request{}, "404"},
		"no route, gRPC":    {nil, wire.Request{Headers: grpc}, "404/12"},
		"refused, gRPC":     {nil, wire.Request{Method: "FOO", Headers: grpc}, "400"},
		"HTTP/1.0, gRPC":    {nil, wire.Request{Version: "1.0", Headers: grpc}, "426"},
		"no host, gRPC":     {nil, wire.Request{Headers: wire.Headers{"content-type": "application/grpc", "connection": "host"}}, "400/13"},
		"lost, gRPC":        {[]*effective.Route{everything(lost(1))}, wire.Request{Headers: grpc}, "500/2"},
		"no endpoint, gRPC": {[]*effective.Route{everything(to("empty", 1))}, wire.Request{Headers: grpc}, "503/14"},
	} {
		if c.q.URL == "" {
			c.q.URL = "http://web:8080/"
		}
		v, err := run(shop(c.routes...), c.q)
		if err != nil {
			t.Fatal(err)
		}
		b := v.Branches[0]
		got := fmt.Sprint(b.Status)
		if b.GRPCStatus != nil {
			got += fmt.Sprintf("/%d", *b.GRPCStatus)
		}
		if got != c.want || b.Outcome != sim.Respond {
			t.Errorf("%s: %s %s, wanted %s", name, b.Outcome, got, c.want)
		}
	}
}

func TestChangesOfHeadersAreShownInOneOrder(t *testing.T) {
	t.Parallel()
	m := &route.HeaderModifier{Set: []route.Header{{Name: "S", Value: "1"}}, Add: []route.Header{{Name: "a", Value: "1"}}, Remove: []string{"z", "Y", "s"}}
	rt := everything(to("v1", 1))
	rt.Filters = []route.Filter{{RequestHeaders: m, ResponseHeaders: nil}, {ResponseHeaders: m}}
	v, err := run(shop(rt), wire.Request{URL: "http://web:8080/", Headers: wire.Headers{"z": "1", "y": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := jsonText(v.Branches[0].ResponseHeaders), `{"add":{"a":"1"},"remove":["s","y","z"]}`; got != want {
		t.Errorf("answer: %s, wanted %s", got, want)
	}
	if got, want := jsonText(v.Branches[0].Forwarded.RemovedHeaders), `["s","y","z"]`; got != want {
		t.Errorf("request: %s, wanted %s", got, want)
	}
}
