package xds_test

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/resource"
)

// TestWhatGRPCIgnoresIsSaid: each thing that a client without a sidecar does not
// do is a note on who wrote it, and nothing that it refuses is left.
func TestWhatGRPCIgnoresIsSaid(t *testing.T) {
	t.Parallel()
	h := []route.Header{{Name: "a", Value: "b"}}
	filters := map[string]route.Filter{
		"set request":     {RequestHeaders: &route.HeaderModifier{Set: h}},
		"remove request":  {RequestHeaders: &route.HeaderModifier{Remove: []string{"a"}}},
		"add response":    {ResponseHeaders: &route.HeaderModifier{Add: h}},
		"remove response": {ResponseHeaders: &route.HeaderModifier{Remove: []string{"a"}}},
		"prefix":          prefixRewrite("/b"),
		"path":            fullRewrite("/b"),
		"host":            {Rewrite: &route.Rewrite{Hostname: "a"}},
	}
	routes := map[string]*effective.Route{"nothing": rule("r", path(match.SegmentPrefix, "/"))}
	for name, f := range filters {
		routes[name] = rule("r", path(match.SegmentPrefix, "/"), f)
	}
	routes["redirect"] = rule("r", path(match.SegmentPrefix, "/"))
	routes["redirect"].Answer, routes["redirect"].ActionBy = &route.Redirect{Hostname: "a"}, by("r")
	routes["mirror"] = rule("r", path(match.SegmentPrefix, "/"))
	routes["mirror"].Mirrors = []effective.Mirror{{Backend: to("v2", 1), Percent: 100}}
	routes["limit"] = rule("r", path(match.SegmentPrefix, "/"))
	routes["limit"].Policies = effective.Policies{confs(t)["ratelimit"]}
	for name, r := range routes {
		s := renderer().RenderGRPC(sidecar([]*effective.Table{table(r)}, nil))
		var said []string
		for _, n := range s.Notes {
			said = append(said, n.Code+" of "+n.Origin.Name)
		}
		want := "UnsupportedByGRPC of r"
		switch name {
		case "nothing":
			want = ""
		case "limit":
			want = "UnsupportedByGRPC of p" // the policy's doing, not the route's
		}
		if got := strings.Join(said, ","); got != want {
			t.Errorf("%s: notes %q, want %q", name, got, want)
		}
		for _, r := range envoytest.Open(t, s.Routes[0], &routev3.RouteConfiguration{}).VirtualHosts[0].Routes {
			if len(r.TypedPerFilterConfig) > 0 {
				t.Errorf("%s: a filter that the client does not know is left", name)
			}
		}
	}
}

// TestGRPCOutside: this client takes endpoints by EDS or one name, and no TLS.
func TestGRPCOutside(t *testing.T) {
	t.Parallel()
	outside := func(tls bool, addresses ...string) *resource.State {
		s := &api.MeshExternalService{}
		for _, a := range addresses {
			s.Endpoints = append(s.Endpoints, api.ExternalEndpoint{Address: a, Port: 80})
		}
		if tls {
			s.TLS = &api.ExternalTLS{Enabled: true, Verification: &api.TLSVerification{Mode: "SkipAll"}}
		}
		dest := &effective.Destination{ID: "extsvc_out:80", Ref: api.Ref{Kind: api.KindMeshExternalService, Name: "out"}, Protocol: api.GRPC, External: s}
		return renderer().RenderGRPC(sidecar(nil, []effective.ClusterUse{{Cluster: &effective.Cluster{Name: dest.ID, Destination: dest}}}))
	}
	for _, c := range []struct {
		name  string
		state *resource.State
		kind  clusterv3.Cluster_DiscoveryType
		lists int
	}{
		{"addresses", outside(false, "192.0.2.1", "192.0.2.2"), clusterv3.Cluster_EDS, 1},
		{"one name", outside(false, "out.example"), clusterv3.Cluster_LOGICAL_DNS, 0},
	} {
		if len(c.state.Clusters) != 1 || len(c.state.Endpoints) != c.lists || c.state.Clusters[0].EDS != (c.lists == 1) {
			t.Errorf("%s: clusters %q, endpoints %q", c.name, names(c.state.Clusters), names(c.state.Endpoints))
			continue
		}
		if got := envoytest.Open(t, c.state.Clusters[0], &clusterv3.Cluster{}).GetType(); got != c.kind {
			t.Errorf("%s: %v, want %v", c.name, got, c.kind)
		}
	}
	for name, s := range map[string]*resource.State{"two names": outside(false, "a.example", "b.example"), "TLS": outside(true, "192.0.2.1")} {
		if len(s.Clusters) != 0 || len(s.Notes) != 1 || s.Notes[0].Origin.Name != "out" {
			t.Errorf("%s: clusters %q, notes %v", name, names(s.Clusters), s.Notes)
		}
	}
}

// TestGRPCNames: a client asks by id, name or hostname with the port; the
// service of its own namespace has the short name.
func TestGRPCNames(t *testing.T) {
	t.Parallel()
	dest := func(namespace string) *effective.Destination {
		return &effective.Destination{ID: "web." + namespace + ":80", Kind: api.KindMeshService, Name: "web", Namespace: namespace, Port: 80,
			Protocol: api.GRPC, Hostnames: []string{"web." + namespace + ".mesh"}}
	}
	far, near := dest("far"), dest("near")
	last := rest()
	classic := &effective.Destination{ID: "old", Name: "old", Protocol: api.GRPC}
	r := sidecar([]*effective.Table{
		{Destination: far, Routes: []*effective.Route{last}}, {Destination: near, Routes: []*effective.Route{last}}, {Destination: classic, Routes: []*effective.Route{last}},
	}, nil)
	r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: 1, Destination: &effective.Destination{ID: "db", Name: "db", Protocol: api.TCP}, TCP: &effective.TCPTable{}})
	r.Dataplane.Labels = map[string]string{api.LabelNamespace: "near"}
	s := renderer().RenderGRPC(r)
	want := []string{"old", "old:10003", "web.far.mesh:80", "web.far:80", "web.near.mesh:80", "web.near:80", "web:80"}
	if d := cmp.Diff(want, names(s.Listeners)); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"outbound:web.near:80"}, find(t, s.Listeners, "web:80").Routes); d != "" {
		t.Errorf("web:80 (-want +got):\n%s", d)
	}
}

// TestTheWayTrafficComes: when a dataplane's traffic begins to be redirected its
// own listeners change, although what they stand for does not.
func TestTheWayTrafficComes(t *testing.T) {
	t.Parallel()
	in := &effective.Inbound{Address: "127.0.0.1", Port: 80, ServiceAddress: "127.0.0.1", ServicePort: 8080, Protocol: api.HTTP}
	r := sidecar([]*effective.Table{table()}, nil, in)
	before := renderer().Render(r)
	r.Dataplane = &api.Object{Ref: r.Ref, Spec: &api.Dataplane{Networking: &api.Networking{TransparentProxying: &api.TransparentProxying{}}}}
	after := renderer().Render(r)
	for _, l := range before.Listeners {
		if find(t, after.Listeners, l.Name).Version == l.Version {
			t.Errorf("%s still binds its port", l.Name)
		}
	}
	cluster := envoytest.Open(t, find(t, after.Clusters, "inbound:127.0.0.1:80"), &clusterv3.Cluster{})
	if got := cluster.GetUpstreamBindConfig().GetSourceAddress().GetAddress(); got != "127.0.0.6" {
		t.Errorf("the workload is called from %q, so the call would be redirected", got)
	}
}

// TestClientCertificates: what a document gives for the proxy's own certificate
// is checked before Envoy sees it.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	text := func(s string) *api.DataSource { return &api.DataSource{InlineString: s} }
	render := func(v *api.TLSVerification) (string, *resource.Resource) {
		v.Mode = "SkipAll"
		dest := &effective.Destination{ID: "x", External: &api.MeshExternalService{
			Endpoints: []api.ExternalEndpoint{{Address: "192.0.2.1", Port: 443}}, TLS: &api.ExternalTLS{Enabled: true, Verification: v},
		}}
		r, notes := clusters.Render(&effective.Cluster{Name: "x", Destination: dest}, nil)
		if len(notes) == 0 {
			return "", r
		}
		return notes[0].Message, r
	}
	for _, c := range []struct {
		v    *api.TLSVerification
		want string
	}{
		{&api.TLSVerification{ClientCert: text("a")}, "give both"},
		{&api.TLSVerification{ClientCert: text("a"), ClientKey: text("b")}, "not a pair in PEM form"},
		{&api.TLSVerification{ClientCert: &api.DataSource{Inline: "%"}, ClientKey: text("b")}, "clientCert: inline is not base64"},
		{&api.TLSVerification{ClientCert: text("a"), ClientKey: &api.DataSource{Inline: "%"}}, "clientKey: inline is not base64"},
	} {
		if got, r := render(c.v); r != nil || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.v, got, c.want)
		}
	}
}
