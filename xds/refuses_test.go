package xds_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/check"
	"github.com/weftmesh/weft/xds/matchers"
	"github.com/weftmesh/weft/xds/routes"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// good is a route that Envoy takes, for a case to spoil.
func good() *routev3.Route {
	return &routev3.Route{
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			Timeout: durationpb.New(0), ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "echo"},
		}},
	}
}

// withRoutes is a bootstrap with one connection manager.
func withRoutes(t *testing.T, routes ...*routev3.Route) []byte {
	t.Helper()
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "x",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			ValidateClusters: wrapperspb.Bool(false),
			VirtualHosts:     []*routev3.VirtualHost{{Name: "x", Domains: []string{"*"}, Routes: routes}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: "envoy.filters.http.local_ratelimit", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, &httplimitv3.LocalRateLimit{StatPrefix: "x"})}},
			{Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, &routerv3.Router{})}},
		},
	}
	l := &listenerv3.Listener{
		Name: "x", Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: envoytest.Socket(t)}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(t, manager)},
		}}}},
	}
	return envoytest.JSON(t, envoytest.Bootstrap(envoytest.Socket(t), &bootstrapv3.Bootstrap_StaticResources{Listeners: []*listenerv3.Listener{l}}))
}

func limit(t *testing.T, r *routev3.Route, m *httplimitv3.LocalRateLimit) {
	m.StatPrefix = "x"
	r.TypedPerFilterConfig = map[string]*anypb.Any{"envoy.filters.http.local_ratelimit": packed(t, m)}
}

func bucket(fill time.Duration) *typev3.TokenBucket {
	return &typev3.TokenBucket{MaxTokens: 1, FillInterval: durationpb.New(fill)}
}

func header(name, value string) []*corev3.HeaderValueOption {
	return []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: name, Value: value}}}
}

// refusals are the cases of spec/xds.md 6, each with what spoils a good route.
var refusals = map[string]func(*testing.T, *routev3.Route){
	"a regular expression that is none": func(_ *testing.T, r *routev3.Route) {
		r.Match = onPath("/([")
	},
	"a regular expression over the budget": func(_ *testing.T, r *routev3.Route) {
		r.Match = matchers.Route(match.Conditions{{On: match.OnHeader, Op: match.FullMatch, Name: "a", Value: "(?:abcdefghij){900}"}})
	},
	"a cookie's expression that is none": func(_ *testing.T, r *routev3.Route) {
		r.Match = matchers.Route(match.Conditions{{On: match.OnCookie, Op: match.FullMatch, Name: "a", Value: "(["}})
	},
	"a claim's expression that is none": func(_ *testing.T, r *routev3.Route) {
		r.Match = matchers.Route(match.Conditions{{On: match.OnClaim, Op: match.FullMatch, Name: "a", Value: "(["}})
	},
	"the host as a header to set": func(_ *testing.T, r *routev3.Route) { r.RequestHeadersToAdd = header("Host", "a") },
	"a pseudo header to remove":   func(_ *testing.T, r *routev3.Route) { r.RequestHeadersToRemove = []string{":path"} },
	"a command in a header value": func(_ *testing.T, r *routev3.Route) { r.ResponseHeadersToAdd = header("a", "100%") },
	"a line break in a header":    func(_ *testing.T, r *routev3.Route) { r.ResponseHeadersToAdd = header("a", "b\r\nc: d") },
	"a longest back-off below the first": func(_ *testing.T, r *routev3.Route) {
		r.GetRoute().RetryPolicy = &routev3.RetryPolicy{RetryBackOff: &routev3.RetryPolicy_RetryBackOff{
			BaseInterval: durationpb.New(2 * time.Second), MaxInterval: durationpb.New(time.Second),
		}}
	},
	"a back-off without a first": func(_ *testing.T, r *routev3.Route) {
		r.GetRoute().RetryPolicy = &routev3.RetryPolicy{RetryBackOff: &routev3.RetryPolicy_RetryBackOff{MaxInterval: durationpb.New(time.Second)}}
	},
	"a rate limited back-off without headers": func(_ *testing.T, r *routev3.Route) {
		r.GetRoute().RetryPolicy = &routev3.RetryPolicy{RateLimitedRetryBackOff: &routev3.RetryPolicy_RateLimitedRetryBackOff{}}
	},
	"a timeout that runs backwards":   func(_ *testing.T, r *routev3.Route) { r.GetRoute().Timeout = durationpb.New(-time.Second) },
	"weights that add up to nothing":  func(_ *testing.T, r *routev3.Route) { split(r, 0, 0) },
	"weights that add up to too much": func(_ *testing.T, r *routev3.Route) { split(r, 1<<31, 1<<31) },
	"a status that Envoy does not know": func(t *testing.T, r *routev3.Route) {
		limit(t, r, &httplimitv3.LocalRateLimit{TokenBucket: bucket(time.Second), Status: &typev3.HttpStatus{Code: 420}})
	},
	"a bucket that is filled too often": func(t *testing.T, r *routev3.Route) {
		limit(t, r, &httplimitv3.LocalRateLimit{TokenBucket: bucket(10 * time.Millisecond)})
	},
	"eleven headers of a limit": func(t *testing.T, r *routev3.Route) {
		m := &httplimitv3.LocalRateLimit{TokenBucket: bucket(time.Second)}
		for i := range 11 {
			m.ResponseHeadersToAdd = append(m.ResponseHeadersToAdd, header(fmt.Sprintf("a%d", i), "b")...)
		}
		limit(t, r, m)
	},
	"the host as a header of a limit": func(t *testing.T, r *routev3.Route) {
		limit(t, r, &httplimitv3.LocalRateLimit{TokenBucket: bucket(time.Second), ResponseHeadersToAdd: header(":status", "200")})
	},
}

// unchecked is a condition on the path that no constructor may take.
func unchecked(expression string) match.Condition {
	return match.Condition{On: match.OnPath, Op: match.FullMatch, Value: expression}
}

// onPath matches paths by any expression.
func onPath(expression string) *routev3.RouteMatch {
	return matchers.Route(match.Conditions{unchecked(expression)})
}

func split(r *routev3.Route, weights ...uint32) {
	w := &routev3.WeightedCluster{}
	for _, n := range weights {
		w.Clusters = append(w.Clusters, &routev3.WeightedCluster_ClusterWeight{Name: "echo", Weight: wrapperspb.UInt32(n)})
	}
	r.GetRoute().ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: w}
}

// TestEnvoyRefuses: what Envoy refuses weft knows before it is sent. Each case
// is shown to a real Envoy, so that the table holds nothing that is not true.
func TestEnvoyRefuses(t *testing.T) {
	t.Parallel()
	if err := check.Route(good()); err != nil {
		t.Fatal(err)
	}
	if err := envoytest.Validate(t, withRoutes(t, good())); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good()
			spoil(t, r)
			if err := check.Route(r); err == nil {
				t.Error("weft would send it")
			}
			if err := envoytest.Validate(t, withRoutes(t, r)); err == nil {
				t.Error("Envoy takes it, so it need not be refused")
			}
		})
	}
}

// TestABadRouteLosesNothingElse: it becomes a 500 for its own requests, and
// says whose document it was; where even its match is bad it is left out.
func TestABadRouteLosesNothingElse(t *testing.T) {
	t.Parallel()
	badHeader := rule("header", path(match.SegmentPrefix, "/a"), route.Filter{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: ":path", Value: "/"}}}})
	badMatch := rule("match", matches.Of(unchecked("/([")))
	r := routes.RenderTable(table(badHeader, badMatch, rule("fine", path(match.Equal, "/b"))), nil)
	config := envoytest.Open(t, r, &routev3.RouteConfiguration{})
	var got []string
	for _, e := range config.VirtualHosts[0].Routes {
		what := "forwards"
		if s := e.GetDirectResponse().GetStatus(); s != 0 {
			what = "answers 500"
		}
		got = append(got, e.Name+" "+what)
	}
	if want := "header answers 500,fine forwards,rest forwards"; strings.Join(got, ",") != want {
		t.Errorf("routes %q, want %q", got, want)
	}
	if len(r.Notes) != 2 || r.Notes[0].Origin.Name != "header" || r.Notes[1].Origin.Name != "match" || r.Notes[1].Severity != api.Error {
		t.Errorf("notes: %v", r.Notes)
	}
}

// TestABadClusterLosesNothingElse is the same for clusters and listeners.
func TestABadClusterLosesNothingElse(t *testing.T) {
	t.Parallel()
	bad := &effective.Destination{ID: "extsvc_x:443", Kind: api.KindMeshExternalService, Ref: api.Ref{Kind: api.KindMeshExternalService, Name: "x"},
		External: &api.MeshExternalService{Endpoints: []api.ExternalEndpoint{{Address: "a.example", Port: 443}},
			TLS: &api.ExternalTLS{Enabled: true, Verification: &api.TLSVerification{CACert: &api.DataSource{InlineString: "nothing"}}}}}
	r := sidecar([]*effective.Table{table()}, []effective.ClusterUse{
		{Cluster: &effective.Cluster{Name: bad.ID, Destination: bad}},
		use("web:8080", web(), effective.Endpoint{Address: "web.example", Port: 1}, effective.Endpoint{Address: "127.0.0.1", Port: 1}),
	})
	named := outbound(t, r.Outbounds[0].Table, nil)
	named.Address = "web.example"
	r.Outbounds = append(r.Outbounds, named)
	s := renderer().Render(r)
	if got := names(s.Clusters); len(got) != 1 || got[0] != "web:8080" {
		t.Errorf("clusters %q, want web:8080 alone", got)
	}
	if got := names(s.Listeners); len(got) != 1 {
		t.Errorf("listeners %q, want one", got)
	}
	var said []string
	for _, n := range s.Notes {
		said = append(said, n.Message)
	}
	for _, want := range []string{"no certificate in PEM form", "endpoint web.example:1", "must be an IP"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("no note says %q: %q", want, said)
		}
	}
}

// TestARefusedListenerIsSaidOfEach: dataplanes share an outbound of which Envoy would refuse
// the listener; what is said of it names each of them.
func TestARefusedListenerIsSaidOfEach(t *testing.T) {
	t.Parallel()
	shared := outbound(t, table(), nil)
	shared.Address, shared.Listener = "web.example", new(effective.Derived)
	x := renderer()
	for _, name := range []string{"dp-1", "dp-2", "dp-1"} {
		r := sidecar(nil, nil)
		r.Ref.Name, r.Dataplane.Name = name, name
		r.Outbounds = []*effective.Outbound{shared}
		s := x.Render(r)
		if len(s.Listeners) != 0 || len(s.Notes) == 0 || s.Notes[0].Origin.Name != name {
			t.Errorf("of %s is said %v, with %d listeners", name, s.Notes, len(s.Listeners))
		}
	}
}

// TestEnvoyRefusesNames holds what made two of the checks above necessary.
func TestEnvoyRefusesNames(t *testing.T) {
	t.Parallel()
	c := envoytest.EchoCluster("x", &envoytest.Backend{Host: "web.example", Port: 1})
	b := envoytest.Bootstrap(envoytest.Socket(t), &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{c}})
	if err := envoytest.Validate(t, envoytest.JSON(t, b)); err == nil {
		t.Error("Envoy takes a host name as a fixed endpoint")
	}
}

// TestRegexBudget holds spec/xds.md 7: an ordinary expression is over Envoy's own
// limit and within that of weft's bootstrap.
func TestRegexBudget(t *testing.T) {
	t.Parallel()
	r := good()
	r.Match = onPath("/(?:abcdefghij){100}/[^/]{1,63}")
	if err := check.Route(r); err != nil {
		t.Error(err)
	}
	b := withRoutes(t, r)
	if err := envoytest.Validate(t, b); err != nil {
		t.Error(err)
	}
	without := strings.Replace(string(b), bootstrap.RegexBudgetKey, "something.else", 1)
	if err := envoytest.Validate(t, []byte(without)); err == nil {
		t.Error("Envoy takes it without the budget, so the budget is not needed")
	}
}
