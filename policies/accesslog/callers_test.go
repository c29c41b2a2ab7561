package accesslog_test

import (
	"testing"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies/accesslog"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
)

func line(text string) accesslog.Backend {
	return accesslog.Backend{Type: "File", File: &accesslog.File{Path: "/dev/stdout", Format: &accesslog.Format{Type: "Plain", Plain: &text}}}
}

// TestCallers: what some callers have beside what all have is written by loggers of its own, once for each
// backend, in whatever order callers come; Envoy takes the filters.
func TestCallers(t *testing.T) {
	t.Parallel()
	at := envoy.Place{Protocol: api.HTTP, Inbound: true, Chain: envoy.MTLS}
	all := &accesslog.Conf{Backends: []accesslog.Backend{line("all")}}
	parts := []struct {
		caller effective.CallerMatch
		conf   *accesslog.Conf
	}{
		{effective.CallerMatch{ID: "spiffe://default/a"}, &accesslog.Conf{Backends: []accesslog.Backend{line("all"), line("a")}}},
		{effective.CallerMatch{ID: "spiffe://default/b", Below: true}, &accesslog.Conf{Backends: []accesslog.Backend{line("all"), line("a"), line("b")}}},
	}
	write := func(order ...int) ([]*accesslogv3.AccessLog, []*accesslogv3.AccessLog) {
		m, tcp := &hcmv3.HttpConnectionManager{}, &tcpproxyv3.TcpProxy{}
		all.WriteManager(m, at)
		all.WriteTCP(tcp, at)
		for _, i := range order {
			at := at
			at.Caller = &parts[i].caller
			parts[i].conf.WritePartOfManager(m, at)
			parts[i].conf.WritePartOfTCP(tcp, at)
		}
		return m.AccessLog, tcp.AccessLog
	}
	requests, connections := write(0, 1)
	if len(requests) != 3 || len(connections) != 3 {
		t.Fatalf("%d loggers of requests, and %d of connections", len(requests), len(connections))
	}
	filters := map[string]int{}
	for _, l := range requests {
		switch {
		case l.Filter == nil:
			filters["all"]++
		case l.Filter.GetOrFilter() != nil:
			filters["either"] += len(l.Filter.GetOrFilter().Filters)
		default:
			filters["one"]++
		}
	}
	if diff := cmp.Diff(map[string]int{"all": 1, "either": 2, "one": 1}, filters); diff != "" {
		t.Error(diff)
	}
	for i, err := range envoytest.LogVerdicts(t, append(requests, connections...)) {
		if err != nil {
			t.Errorf("logger %d: %v", i, err)
		}
	}
	other, _ := write(1, 0)
	for i := range requests {
		if requests[i].Name != other[i].Name || !cmp.Equal(requests[i].ConfigType, other[i].ConfigType, protocmp.Transform()) {
			t.Errorf("logger %d is another one in the other order", i)
		}
	}
}

// TestRulesAddUp: of rules that a caller meets each holds, and of equal backends one; an override stands in
// the place of all.
func TestRulesAddUp(t *testing.T) {
	t.Parallel()
	layer := func(name string, override bool, texts ...string) merge.Layer {
		c := &accesslog.Conf{Backends: []accesslog.Backend{}}
		for _, text := range texts {
			c.Backends = append(c.Backends, line(text))
		}
		return merge.Layer{Name: merge.Mesh, Override: override, Origin: &api.Origin{Ref: api.Ref{Kind: "MeshAccessLog", Name: name}}, Leaves: accesslog.Kind.Schema.Read(c)}
	}
	of := func(layers ...merge.Layer) (out []string) {
		for _, b := range accesslog.Kind.AddUp(layers).Conf.(*accesslog.Conf).Backends {
			out = append(out, *b.File.Format.Plain)
		}
		return out
	}
	if diff := cmp.Diff([]string{"x", "y", "z"}, of(layer("a", false, "x", "y"), layer("b", false), layer("c", false, "y", "z"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"z"}, of(layer("a", false, "x"), layer("b", true, "z"))); diff != "" {
		t.Error(diff)
	}
	e := accesslog.Kind.AddUp([]merge.Layer{layer("a", false, "x"), layer("b", false, "y")})
	for _, s := range e.Fields[0].Said {
		if s.Lost != merge.NotLost {
			t.Errorf("%s is said to have lost", s.Origin.Name)
		}
	}
}
