package xds_test

import (
	"strings"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// writes reports whether a listener writes of requests to the agent, and holds that it does so in its connection
// manager and in its router, or in neither.
func writes(t *testing.T, r *resource.Resource) bool {
	t.Helper()
	l := envoytest.Listener(t, r)
	m := &hcmv3.HttpConnectionManager{}
	if err := l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	filters := m.GetHttpFilters()
	router, err := filters[len(filters)-1].GetTypedConfig().UnmarshalNew()
	if err != nil {
		t.Fatal(err)
	}
	manager := len(m.GetAccessLog()) == 2
	if attempts := strings.Contains(prototext.Format(router), naming.SidecarCluster); attempts != manager {
		t.Errorf("%s: the connection manager writes: %v, the router: %v", l.GetName(), manager, attempts)
	}
	if reads := m.GetHttpFilters()[0].GetName() == bootstrap.TapHeadersFilter; reads != manager {
		t.Errorf("%s: the connection manager writes: %v, and reads headers before all else: %v", l.GetName(), manager, reads)
	}
	return manager
}

// TestRequestLogs: who has an agent for it writes what becomes of requests, at outbounds and inbounds; listeners
// that sidecars have alike stay one, for those who write and for those who do not, and a Mesh may disable it.
func TestRequestLogs(t *testing.T) {
	t.Parallel()
	reporting := renderer().Reporting()
	tab, kept := table(), effective.NewCache()
	of := func(name string) *effective.Resolved {
		r := sidecar([]*effective.Table{tab}, nil, &effective.Inbound{Address: "127.0.0.1", Port: 10080, ServiceAddress: "127.0.0.1", ServicePort: 80, Protocol: api.HTTP})
		r.Ref.Name = name
		r.Outbounds[0].Cache, r.Outbounds[0].Listener = kept, new(effective.Derived)
		r.Inbounds[0].Cache = new(effective.Derived)
		return r
	}
	one, two := of("one"), of("two")
	for range 2 { // what was made for one way is not taken for the other
		for _, r := range []*effective.Resolved{one, two} {
			for i, l := range reporting.Render(r).Listeners {
				if !writes(t, l) {
					t.Errorf("%s: listener %d writes nothing", r.Ref.Name, i)
				}
			}
			for i, l := range reporting.Quiet().Render(r).Listeners {
				if writes(t, l) {
					t.Errorf("%s: listener %d writes without an agent for it", r.Ref.Name, i)
				}
			}
		}
	}
	outbound := func(s *resource.State) *resource.Resource {
		for _, l := range s.Listeners {
			if strings.HasPrefix(l.Name, "outbound:") {
				return l
			}
		}
		t.Fatal("there is no outbound")
		return nil
	}
	if outbound(reporting.Render(one)) != outbound(reporting.Render(two)) || outbound(reporting.Quiet().Render(one)) != outbound(reporting.Quiet().Render(two)) {
		t.Error("equal listeners are two")
	}
	if outbound(reporting.Quiet().Render(one)).Version != outbound(renderer().Render(one)).Version {
		t.Error("a sidecar with an older agent has another listener than before")
	}
	silent := of("silent")
	silent.Quiet = true
	for _, l := range reporting.Render(silent).Listeners {
		if writes(t, l) {
			t.Errorf("%s writes although the mesh disables it", l.Name)
		}
	}
}

// TestRequestLogsAreOneConstant: all connection managers write the same, whoever's they are.
func TestRequestLogsAreOneConstant(t *testing.T) {
	t.Parallel()
	var all []*hcmv3.HttpConnectionManager
	r := sidecar([]*effective.Table{table()}, nil, &effective.Inbound{Address: "127.0.0.1", Port: 10080, ServiceAddress: "127.0.0.1", ServicePort: 80, Protocol: api.GRPC})
	for _, l := range renderer().Reporting().Render(r).Listeners {
		m := &hcmv3.HttpConnectionManager{}
		if err := envoytest.Listener(t, l).GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	for i, log := range all[0].GetAccessLog() {
		if !proto.Equal(log, all[1].GetAccessLog()[i]) {
			t.Errorf("logger %d differs", i)
		}
	}
	if len(all) != 2 || len(all[1].GetAccessLog()) != 2 {
		t.Errorf("%d listeners, with %d loggers", len(all), len(all[1].GetAccessLog()))
	}
}
