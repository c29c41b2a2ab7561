package matcher_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

type labels = map[string]string

var (
	sidecar = matcher.Dataplane{Name: "web-1", Labels: api.Labels{Display: "web-1", Written: labels{"app": "web", "kuma.io/zone": "east", "kuma.io/origin": "zone"}},
		Tags: []labels{{"kuma.io/service": "web", "version": "1"}, {"kuma.io/service": "web-admin"}}}
	gateway = matcher.Dataplane{Name: "gw-1", Labels: api.Labels{Display: "gw-1"}, Gateway: true, Namespace: "edge", Tags: []labels{{"kuma.io/service": "gw"}}}
)

func TestSelector(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name             string
		ref              api.TargetRef
		local            matcher.Local
		sidecar, gateway bool
	}{
		{"mesh", api.TargetRef{Kind: "Mesh"}, matcher.Local{}, true, true},
		{"sidecars only", api.TargetRef{Kind: "Mesh", ProxyTypes: []string{"Sidecar"}}, matcher.Local{}, true, false},
		{"gateways only", api.TargetRef{Kind: "Mesh", ProxyTypes: []string{"Gateway"}}, matcher.Local{}, false, true},
		{"both types", api.TargetRef{Kind: "Mesh", ProxyTypes: []string{"Gateway", "Sidecar"}}, matcher.Local{}, true, true},
		{"every dataplane", api.TargetRef{Kind: "Dataplane"}, matcher.Local{}, true, true},
		{"by label", api.TargetRef{Kind: "Dataplane", Labels: labels{"app": "web"}}, matcher.Local{}, true, false},
		{"by display name", api.TargetRef{Kind: "Dataplane", Labels: labels{"kuma.io/display-name": "gw-1"}}, matcher.Local{}, false, true},
		{"by two labels, one wrong", api.TargetRef{Kind: "Dataplane", Labels: labels{"app": "web", "team": "x"}}, matcher.Local{}, false, false},
		{"by name", api.TargetRef{Kind: "Dataplane", Name: "web-1"}, matcher.Local{}, true, false},
		{"by name elsewhere", api.TargetRef{Kind: "Dataplane", Name: "web-1", Namespace: "edge"}, matcher.Local{}, false, false},
		{"a section narrows inbounds only", api.TargetRef{Kind: "Dataplane", Name: "web-1", SectionName: "http"}, matcher.Local{}, true, false},
		{"by service", api.TargetRef{Kind: "MeshService", Name: "web-admin"}, matcher.Local{}, true, false},
		{"by service of a gateway", api.TargetRef{Kind: "MeshService", Name: "gw"}, matcher.Local{}, false, true},
		{"by tags of one inbound", api.TargetRef{Kind: "MeshSubset", Tags: labels{"version": "1"}}, matcher.Local{}, true, false},
		{"by tags of two inbounds", api.TargetRef{Kind: "MeshSubset", Tags: labels{"version": "1", "kuma.io/service": "web-admin"}}, matcher.Local{}, false, false},
		{"a tag that is wanted empty may be missing", api.TargetRef{Kind: "MeshSubset", Tags: labels{"none": ""}}, matcher.Local{}, true, true},
		{"by service and tags", api.TargetRef{Kind: "MeshServiceSubset", Name: "web", Tags: labels{"version": "1"}}, matcher.Local{}, true, false},
		{"by service and wrong tags", api.TargetRef{Kind: "MeshServiceSubset", Name: "web-admin", Tags: labels{"version": "1"}}, matcher.Local{}, false, false},
		{"gateway objects are not there", api.TargetRef{Kind: "MeshGateway", Name: "gw"}, matcher.Local{}, false, false},
		{"own zone, and no zone", api.TargetRef{Kind: "Mesh"}, matcher.Local{Zone: "east"}, true, true},
		{"other zone", api.TargetRef{Kind: "Mesh"}, matcher.Local{Zone: "west"}, false, true},
		{"own namespace", api.TargetRef{Kind: "Mesh"}, matcher.Local{Namespace: "edge"}, false, true},
	}
	for _, c := range cases {
		s := matcher.SelectorOf(c.ref, c.local)
		if got := s.Selects(&sidecar); got != c.sidecar {
			t.Errorf("%s: selects the sidecar: %v", c.name, got)
		}
		if got := s.Selects(&gateway); got != c.gateway {
			t.Errorf("%s: selects the gateway: %v", c.name, got)
		}
		for _, d := range []*matcher.Dataplane{&sidecar, &gateway} {
			if w, ok := s.Wants(); s.Selects(d) && !(ok && hasWanted(d, w)) {
				t.Errorf("%s: selects %s, which lacks what it wants: %+v", c.name, d.Name, w)
			}
		}
		if s.Key == "" && !(c.sidecar && c.gateway) {
			t.Errorf("%s: has the key of what selects everything", c.name)
		}
	}
}

// hasWanted reports whether an index by what dataplanes have leads from w to d.
func hasWanted(d *matcher.Dataplane, w matcher.Wants) bool {
	tagged := func(k, v string) bool {
		return slices.ContainsFunc(d.Tags, func(t labels) bool { have, ok := t[k]; return ok && have == v })
	}
	for k, v := range w.Tags {
		if !tagged(k, v) {
			return false
		}
	}
	for _, n := range w.Namespaces {
		if n != d.Namespace {
			return false
		}
	}
	return (w.Name == "" || w.Name == d.Name || w.Name == d.Display()) && (!w.Gateway || d.Gateway) && d.Labels.Carry(w.Labels)
}

func TestSelectsInbound(t *testing.T) {
	t.Parallel()
	s := matcher.SelectorOf(api.TargetRef{Kind: "MeshService", Name: "web"}, matcher.Local{})
	if !s.SelectsInbound(&sidecar, sidecar.Tags[0]) || s.SelectsInbound(&sidecar, sidecar.Tags[1]) {
		t.Error("a service selects its own inbound and no other")
	}
	s = matcher.SelectorOf(api.TargetRef{Kind: "Dataplane", Labels: labels{"app": "web"}}, matcher.Local{})
	if !s.SelectsInbound(&sidecar, sidecar.Tags[1]) {
		t.Error("a dataplane ref selects every inbound")
	}
}

func TestEqualSelectorsHaveEqualKeys(t *testing.T) {
	t.Parallel()
	a := matcher.SelectorOf(api.TargetRef{Kind: "Dataplane", Labels: labels{"a": "1", "b": "2"}}, matcher.Local{})
	b := matcher.SelectorOf(api.TargetRef{Kind: "Dataplane", Labels: labels{"b": "2", "a": "1"}, SectionName: "x"}, matcher.Local{})
	c := matcher.SelectorOf(api.TargetRef{Kind: "Dataplane", Labels: labels{"b": "2", "a": "2"}}, matcher.Local{})
	if a.Key != b.Key || a.Key == c.Key {
		t.Errorf("keys %q, %q, %q", a.Key, b.Key, c.Key)
	}
}

func TestDestination(t *testing.T) {
	t.Parallel()
	kube := matcher.Service{Kind: "MeshService", Name: "web", Object: "web.shop", Namespace: "shop", Labels: api.Labels{Written: labels{"team": "x"}}, Port: 80, PortName: "http"}
	classic := matcher.Service{Kind: "MeshService", Name: "web", Classic: true}
	outside := matcher.Service{Kind: "MeshExternalService", Name: "web", Port: 443}
	cases := []struct {
		name                   string
		ref                    api.TargetRef
		home                   string
		kube, classic, outside bool
	}{
		{"mesh", api.TargetRef{Kind: "Mesh"}, "", true, true, true},
		{"by name", api.TargetRef{Kind: "MeshService", Name: "web"}, "", true, true, false},
		{"by the object's name", api.TargetRef{Kind: "MeshService", Name: "web.shop"}, "", true, false, false},
		{"from its namespace", api.TargetRef{Kind: "MeshService", Name: "web"}, "shop", true, true, false},
		{"from another namespace", api.TargetRef{Kind: "MeshService", Name: "web"}, "pay", false, true, false},
		{"into its namespace", api.TargetRef{Kind: "MeshService", Name: "web", Namespace: "shop"}, "pay", true, false, false},
		{"by port name", api.TargetRef{Kind: "MeshService", Name: "web", SectionName: "http"}, "", true, false, false},
		{"by port number", api.TargetRef{Kind: "MeshService", Name: "web", SectionName: "80"}, "", true, false, false},
		{"by another port", api.TargetRef{Kind: "MeshService", Name: "web", SectionName: "81"}, "", false, false, false},
		{"by labels", api.TargetRef{Kind: "MeshService", Labels: labels{"team": "x"}}, "", true, false, false},
		{"by the Kubernetes form", api.TargetRef{Kind: "MeshService", Name: "web_shop_svc_80"}, "", true, false, false},
		{"by the Kubernetes form of another port", api.TargetRef{Kind: "MeshService", Name: "web_shop_svc_81"}, "", false, false, false},
		{"external", api.TargetRef{Kind: "MeshExternalService", Name: "web"}, "", false, false, true},
		{"a route is no destination", api.TargetRef{Kind: "MeshHTTPRoute", Name: "web"}, "", false, false, false},
	}
	for _, c := range cases {
		for _, x := range []struct {
			name string
			s    *matcher.Service
			want bool
		}{{"service", &kube, c.kube}, {"classic service", &classic, c.classic}, {"external service", &outside, c.outside}} {
			if got := matcher.Destination(c.ref, api.Home{Namespace: c.home, System: c.home == ""}, x.s); got != x.want {
				t.Errorf("%s: selects the %s: %v", c.name, x.name, got)
			}
		}
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	r := &api.Object{Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: "r.shop"},
		Labels: labels{"kuma.io/display-name": "r", "k8s.kuma.io/namespace": "shop", "team": "x"}}
	facts := matcher.RouteOf(r, nil)
	cases := []struct {
		name string
		ref  api.TargetRef
		home string
		want bool
	}{
		{"by display name", api.TargetRef{Kind: "MeshHTTPRoute", Name: "r"}, "", true},
		{"by object name", api.TargetRef{Kind: "MeshHTTPRoute", Name: "r.shop"}, "", true},
		{"by label", api.TargetRef{Kind: "MeshHTTPRoute", Labels: labels{"team": "x"}}, "", true},
		{"by another label", api.TargetRef{Kind: "MeshHTTPRoute", Labels: labels{"team": "y"}}, "", false},
		{"by nothing", api.TargetRef{Kind: "MeshHTTPRoute"}, "", false},
		{"another kind", api.TargetRef{Kind: "HTTPRoute", Name: "r"}, "", false},
		{"from its namespace", api.TargetRef{Kind: "MeshHTTPRoute", Name: "r"}, "shop", true},
		{"from another namespace", api.TargetRef{Kind: "MeshHTTPRoute", Name: "r"}, "pay", false},
	}
	for _, c := range cases {
		if got := matcher.Route(c.ref, api.Home{Namespace: c.home}, &facts); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
