package xds_test

import (
	"fmt"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
)

// TestEndpointsByZoneAndPriority: endpoints of one zone and priority stand
// together, in the order of the list, and no others beside them.
func TestEndpointsByZoneAndPriority(t *testing.T) {
	t.Parallel()
	r := renderedEndpoints(&effective.Endpoints{Name: "web:8080", List: []effective.Endpoint{
		{Address: "127.0.0.1", Port: 1, Zone: "east"},
		{Address: "127.0.0.2", Port: 2, Zone: "west"},
		{Address: "127.0.0.3", Port: 3, Zone: "east"},
		{Address: "127.0.0.4", Port: 4, Zone: "east", Priority: 1},
	}})
	var got endpointv3.ClusterLoadAssignment
	if err := r.Content().UnmarshalTo(&got); err != nil {
		t.Fatal(err)
	}
	groups := map[string][]uint32{}
	for _, l := range got.Endpoints {
		name := l.Locality.GetZone()
		if l.Priority > 0 {
			name += "+"
		}
		for _, e := range l.LbEndpoints {
			groups[name] = append(groups[name], e.GetEndpoint().GetAddress().GetSocketAddress().GetPortValue())
		}
	}
	if d := cmp.Diff(map[string][]uint32{"east": {1, 3}, "west": {2}, "east+": {4}}, groups); d != "" || len(got.Endpoints) != 3 {
		t.Errorf("%d groups (-want +got):\n%s", len(got.Endpoints), d)
	}
}

// TestRedirectedTrafficArrivesWhereItIsSaid: at the ports that the dataplane
// names, else at those that everybody uses.
func TestRedirectedTrafficArrivesWhereItIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, want [2]uint32 }{
		{want: [2]uint32{15006, 15001}},
		{say: [2]uint32{1, 2}, want: [2]uint32{1, 2}},
		{say: [2]uint32{0, 2}, want: [2]uint32{15006, 2}},
	} {
		r := sidecar(nil, nil)
		r.Dataplane = &api.Object{Ref: r.Ref, Spec: &api.Dataplane{Networking: &api.Networking{
			TransparentProxying: &api.TransparentProxying{RedirectPortInbound: c.say[0], RedirectPortOutbound: c.say[1]}}}}
		listeners := renderer().Render(r).Listeners
		for i, name := range []string{"inbound:passthrough:ipv4", "outbound:passthrough:ipv4"} {
			var l listenerv3.Listener
			if err := find(t, listeners, name).Content().UnmarshalTo(&l); err != nil {
				t.Fatal(err)
			}
			if got := l.GetAddress().GetSocketAddress().GetPortValue(); got != c.want[i] {
				t.Errorf("%s at %d, want %d", name, got, c.want[i])
			}
		}
	}
}

// TestOutboundListenersAreShared: dataplanes that call the same at the same
// address have one listener, which names none of them; another address, other
// policies of the listener or redirected traffic make another.
func TestOutboundListenersAreShared(t *testing.T) {
	t.Parallel()
	x := renderer()
	called, keptCalled, keptBytes := table(), effective.NewCache(), effective.NewCache()
	bytes := &effective.TCPTable{Destination: web(), Backends: []effective.Backend{to("web:8080", 1)}}
	limited := effective.Policies{confs(t)["ratelimit"]}
	render := func(name string, change func(*effective.Resolved, *effective.Outbound)) *resource.Resource {
		o := &effective.Outbound{Address: "127.0.0.1", Port: 10001, Destination: web(), Table: called, Cache: keptCalled}
		r := sidecar(nil, nil)
		r.Ref.Name = name
		r.Dataplane = &api.Object{Ref: r.Ref, Spec: &api.Dataplane{Networking: &api.Networking{}}}
		r.Outbounds = []*effective.Outbound{o}
		change(r, o)
		return find(t, x.Render(r).Listeners, fmt.Sprintf("outbound:%s:%d", o.Address, o.Port))
	}
	for name, change := range map[string]func(*effective.Resolved, *effective.Outbound){
		"http": func(*effective.Resolved, *effective.Outbound) {},
		"tcp":  func(_ *effective.Resolved, o *effective.Outbound) { o.Table, o.TCP, o.Cache = nil, bytes, keptBytes },
	} {
		one, two := render("dp-1", change), render("dp-2", change)
		if one != two {
			t.Errorf("%s: two listeners for the same", name)
		}
		for other, differs := range map[string]func(*effective.Resolved, *effective.Outbound){
			"port":    func(_ *effective.Resolved, o *effective.Outbound) { o.Port = 10002 },
			"address": func(_ *effective.Resolved, o *effective.Outbound) { o.Address = "127.0.0.2" },
			"policies": func(_ *effective.Resolved, o *effective.Outbound) {
				o.Policies, o.Cache = limited, effective.NewCache()
			},
			"mode": func(r *effective.Resolved, _ *effective.Outbound) {
				r.Dataplane.Spec.(*api.Dataplane).Networking.TransparentProxying = &api.TransparentProxying{}
			},
		} {
			if render("dp-1", func(r *effective.Resolved, o *effective.Outbound) { change(r, o); differs(r, o) }) == one {
				t.Errorf("%s: the same listener with another %s", name, other)
			}
		}
	}
	l := envoytest.Listener(t, render("dp-1", func(*effective.Resolved, *effective.Outbound) {}))
	if text := l.String(); strings.Contains(text, "dp-1") {
		t.Errorf("it names a dataplane: %s", text)
	}
}
