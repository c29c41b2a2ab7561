package xds_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/matchers"
)

// cellRequest is one request, byte for byte, and what conditions see of it.
type cellRequest struct {
	method, host, path string
	lines              []string // of headers, "name: value"
}

func (q cellRequest) request() *match.Request {
	path, query, _ := strings.Cut(q.path, "?")
	named := func(name string) (out []string) {
		for _, line := range q.lines {
			if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
				out = append(out, strings.TrimSpace(v))
			}
		}
		return out
	}
	return &match.Request{Method: q.method, Authority: q.host, Path: path, Query: query, Header: named,
		Claim: func(name string) (string, bool) {
			if v := named("x-claim-" + name); len(v) > 0 {
				return v[0], true
			}
			return "", false
		}}
}

// cellCase is one condition of a legal cell, or several together.
type cellCase struct {
	cell       string
	conditions match.Conditions
	requests   []cellRequest
}

// TestConditionsInEnvoy: every legal cell of the algebra means in Envoy what
// Holds says, also of what is missing, repeated, empty, in other case and in
// bytes that are no ASCII.
func TestConditionsInEnvoy(t *testing.T) {
	t.Parallel()
	cases := cellCases(t)
	ask := conditionEnvoy(t, cases)
	asked, held, cells := 0, 0, map[string]bool{}
	for i, c := range cases {
		cells[c.cell] = true
		for _, q := range c.requests {
			want := c.conditions.Holds(q.request())
			status := ask(i, q)
			if status != 200 && status != 404 {
				t.Fatalf("%s: %+v: status %d", c.conditions.Text(), q, status)
			}
			if got := status == 200; got != want {
				t.Errorf("%s: of %+v: Envoy says %v", c.conditions.Text(), q, got)
			}
			asked++
			if want {
				held++
			}
		}
	}
	for cell := range match.Cells {
		if !cells[cellName(cell)] && cell.On != match.OnChance {
			t.Errorf("no request asks about %s", cellName(cell))
		}
	}
	if held < asked/10 || held > asked*9/10 {
		t.Errorf("%d of %d hold: the requests tell nothing apart", held, asked)
	}
}

// TestChanceInEnvoy: one draw decides between ranges that follow each other.
func TestChanceInEnvoy(t *testing.T) {
	t.Parallel()
	within := func(from, until int64) match.Conditions {
		return match.Conditions{must(t)(match.Within(match.OnChance, "", from, until))}
	}
	cases := []cellCase{{conditions: within(0, 200_000)}, {conditions: within(200_000, 700_000)}}
	routes := []*routev3.Route{direct(201, matchers.Route(cases[0].conditions)), direct(202, matchers.Route(cases[1].conditions)), direct(204, matchers.Route(nil))}
	ask := startConditionEnvoy(t, routes)
	const draws = 4_000
	got := map[int]int{}
	for range draws {
		got[ask("", cellRequest{method: "GET", host: "web", path: "/"})]++
	}
	for status, share := range map[int]float64{201: 0.2, 202: 0.5, 204: 0.3} {
		if have := float64(got[status]) / draws; have < share-0.05 || have > share+0.05 {
			t.Errorf("%d is answered to %.3f of the requests, not to %.1f", status, have, share)
		}
	}
}

func cellName(c match.Cell) string { return fmt.Sprintf("%s %s %03b", c.On, c.Op, c.Mode) }

func must(t *testing.T) func(match.Condition, error) match.Condition {
	return func(c match.Condition, err error) match.Condition {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// conditionEnvoy answers 200 where the conditions of case i hold, else 404.
func conditionEnvoy(t *testing.T, cases []cellCase) func(i int, q cellRequest) int {
	var routes []*routev3.Route
	for i, c := range cases {
		match := matchers.Route(append(match.Conditions{must(t)(match.Compare(match.OnHeader, "x-case", match.Equal, 0, strconv.Itoa(i)))}, c.conditions...))
		routes = append(routes, direct(200, match))
	}
	ask := startConditionEnvoy(t, append(routes, direct(404, matchers.Route(nil))))
	return func(i int, q cellRequest) int { return ask(strconv.Itoa(i), q) }
}

func direct(status uint32, m *routev3.RouteMatch) *routev3.Route {
	return &routev3.Route{Match: m, Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: status}}}
}

// claims makes the headers x-claim-NAME claims.
const claims = `function envoy_on_request(handle)
  for name, value in pairs(handle:headers()) do
    if name:sub(1, 8) == "x-claim-" then handle:streamInfo():dynamicMetadata():set("` + matchers.ClaimsNamespace + `", name:sub(9), value) end
  end
  handle:clearRouteCache()
end`

func startConditionEnvoy(t *testing.T, routes []*routev3.Route) func(name string, q cellRequest) int {
	t.Helper()
	pack := func(m proto.Message) *anypb.Any {
		out, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	httpFilter := func(name string, m proto.Message) *hcmv3.HttpFilter {
		return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(m)}}
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "conditions",
		HttpFilters: []*hcmv3.HttpFilter{
			httpFilter("lua", &luav3.Lua{DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: claims}}}),
			httpFilter("router", &routerv3.Router{}),
		},
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: routes}}}},
	}
	socket, admin := envoytest.Socket(t), envoytest.Socket(t)
	envoytest.Start(t, admin, envoytest.JSON(t, envoytest.Bootstrap(admin, &bootstrapv3.Bootstrap_StaticResources{Listeners: []*listenerv3.Listener{{
		Name:    "conditions",
		Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: socket}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(manager)}}}}},
	}}}))).Ready()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	in := bufio.NewReader(conn)
	return func(name string, q cellRequest) int {
		t.Helper()
		lines := append([]string{"Host: " + q.host, "x-case: " + name, "content-length: 0"}, q.lines...)
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\n%s\r\n\r\n", q.method, q.path, strings.Join(lines, "\r\n"))
		resp, err := http.ReadResponse(in, &http.Request{Method: q.method})
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
}
