package xds_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/routes"
)

// golden compares m with testdata/<name>.json.
func golden(t *testing.T, name string, m proto.Message) {
	t.Helper()
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, raw, "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	cases.Equal(t, filepath.Join("testdata", name+".json"), got.Bytes())
}

// confs has one conf of each kind, with a value for each of its writers.
func confs(t *testing.T) map[string]*policies.Effective {
	second, two := api.Duration(time.Second), uint32(2)
	rate := &ratelimit.Rate{Num: &two, Interval: &second}
	return map[string]*policies.Effective{
		"retry": fold(t, retry.Kind, &retry.Conf{
			HTTP: &retry.HTTP{NumRetries: &two, PerTryTimeout: &second, RetryOn: []string{"5xx", "HttpMethodGet", "418"}},
			TCP:  &retry.TCP{MaxConnectAttempt: &two},
		}),
		"timeout": fold(t, timeout.Kind, &timeout.Conf{
			ConnectionTimeout: &second, IdleTimeout: &second,
			HTTP: &timeout.HTTP{RequestTimeout: &second, StreamIdleTimeout: &second, MaxStreamDuration: &second, RequestHeadersTimeout: &second},
		}),
		"ratelimit": fold(t, ratelimit.Kind, &ratelimit.Conf{Local: &ratelimit.Local{
			HTTP: &ratelimit.HTTP{RequestRate: rate}, TCP: &ratelimit.TCP{ConnectionRate: rate},
		}}),
	}
}

// TestGoldens has one golden for each writer that a kind implements: what the
// object is with the policy, next to what it is without any.
func TestGoldens(t *testing.T) {
	t.Parallel()
	all := confs(t)
	all["none"] = nil
	for name, e := range all {
		var ps effective.Policies
		var conf policies.Conf
		if e != nil {
			ps, conf = effective.Policies{e}, e.Conf
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ok := conf.(envoy.RouteWriter); ok || conf == nil {
				r := rule("r", path(match.SegmentPrefix, "/a"), prefixRewrite("/b"))
				r.Policies = ps
				table := &effective.Table{Destination: web(), Routes: []*effective.Route{r}}
				config := routes.Build(table, true).Configuration(table)
				golden(t, "route-"+name, config)
			}
			if _, ok := conf.(envoy.ClusterWriter); ok || conf == nil {
				u := use("web:8080", web())
				u.Cluster.HTTP2, u.Cluster.Policies = true, ps
				cluster, _ := clusters.Render(u.Cluster, nil)
				golden(t, "cluster-"+name, cluster.Content())
			}
			_, manager := conf.(envoy.ManagerWriter)
			if _, ok := conf.(envoy.NetworkFilterWriter); ok || manager || conf == nil {
				golden(t, "listener-"+name, chainOf(t, table(), nil, ps))
			}
			if _, ok := conf.(envoy.TCPWriter); ok || conf == nil {
				golden(t, "tcp-"+name, chainOf(t, nil, &effective.TCPTable{Destination: web(), Backends: []effective.Backend{to("web:8080", 1)}}, ps))
			}
		})
	}
}

// chainOf is a listener without the parts that every golden would repeat: the
// connection manager's filters, which have a golden of their own.
func chainOf(t *testing.T, tab *effective.Table, tcp *effective.TCPTable, ps effective.Policies) *listenerv3.Listener {
	t.Helper()
	o := &effective.Outbound{Address: "127.0.0.1", Port: 10001, Destination: web(), Table: tab, TCP: tcp, Policies: ps}
	r := sidecar(nil, nil)
	r.Outbounds = []*effective.Outbound{o}
	return envoytest.Listener(t, renderer().Render(r).Listeners[0])
}

// TestGoldenFilters: the HTTP filters that kinds ask for are in every manager.
func TestGoldenFilters(t *testing.T) {
	t.Parallel()
	l := chainOf(t, table(), nil, nil)
	m := &hcmv3.HttpConnectionManager{}
	if err := l.FilterChains[0].Filters[0].GetTypedConfig().UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range m.HttpFilters {
		got = append(got, f.Name)
	}
	want := []string{"weft.cors", "envoy.filters.http.local_ratelimit", "weft.fault.0", "weft.fault.1", "weft.fault.2", "weft.fault.3", "envoy.filters.http.router"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("filters (-want +got):\n%s", d)
	}
}

// TestEveryKindWritesSomething: a kind that acts on nothing is a mistake.
func TestEveryKindWritesSomething(t *testing.T) {
	t.Parallel()
	for _, k := range all.Kinds {
		switch k.New().(type) {
		case envoy.RouteWriter, envoy.ClusterWriter, envoy.ManagerWriter, envoy.TCPWriter, envoy.NetworkFilterWriter, envoy.HTTPFilterWriter, envoy.Guard, envoy.MetricsTeller:
		default:
			if k.TransportSecurity == nil {
				t.Errorf("%s implements no writer", k.Name)
			}
		}
	}
}

// TestGoldenInbound: what one dataplane alone holds.
func TestGoldenInbound(t *testing.T) {
	t.Parallel()
	i := &effective.Inbound{Address: "192.168.0.1", Port: 80, ServiceAddress: "127.0.0.1", ServicePort: 8080, Protocol: api.HTTP, Tags: map[string]string{api.TagService: "web"}}
	s := renderer().Render(sidecar(nil, nil, i))
	golden(t, "inbound-listener", s.Listeners[0].Content())
	golden(t, "inbound-routes", s.Routes[0].Content())
	golden(t, "inbound-cluster", s.Clusters[0].Content())
	golden(t, "endpoints", renderedEndpoints(&effective.Endpoints{Name: "web:8080", List: []effective.Endpoint{
		{Address: "10.0.0.1", Port: 80, Tags: map[string]string{api.TagService: "web", "version": "1"}, Zone: "a"},
		{Address: "10.0.0.2", Port: 80, Zone: "b", Priority: 1},
	}}).Content())
}
