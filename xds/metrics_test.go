package xds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

const metricsPlane = `type: Dataplane
mesh: default
name: web-1
networking:
  address: 192.0.2.1
  admin: {port: 9999}
  transparentProxying: {}
  inbound: [{port: 80, servicePort: 8080, name: main, tags: {kuma.io/service: web, kuma.io/protocol: http}}]
`

func metricsOn(ports ...string) string {
	var list []string
	for _, p := range ports {
		list = append(list, "{type: Prometheus, prometheus: "+p+"}")
	}
	return "type: MeshMetric\nmesh: default\nname: all\nspec: {default: {backends: [" + strings.Join(list, ", ") + "]}}\n"
}

// resolvedOf is a dataplane of documents.
func resolvedOf(t *testing.T, name string, documents ...string) *effective.Resolved {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), "", []byte(strings.Join(documents, "---\n")))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := world.Compile(snapshot.New(1, append(objects, world.DefaultMesh())...))
	r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return r
}

// fetched are the names of the listeners for metrics.
func fetched(s *resource.State) (out []string) {
	for _, l := range s.Listeners {
		if strings.HasPrefix(l.Name, "metrics:") {
			out = append(out, l.Name)
		}
	}
	return out
}

// TestMetricsListeners: there is one for each port, where the agent serves metrics, and for one with TLS only where
// it has a certificate.
func TestMetricsListeners(t *testing.T) {
	t.Parallel()
	r := resolvedOf(t, "web-1", metricsPlane, metricsOn("{}", "{port: 5671, tls: {mode: ProvidedTLS}}", "{port: 5672, tls: {mode: Disabled}}"))
	for _, c := range []struct {
		x    *xds.Renderer
		want string
	}{
		{renderer(), "[]"},
		{renderer().Reporting(), "[]"},
		{renderer().Metering(false), "[metrics:5670 metrics:5672]"},
		{renderer().Metering(true), "[metrics:5670 metrics:5671 metrics:5672]"},
		{renderer().Reporting().Metering(true), "[metrics:5670 metrics:5671 metrics:5672]"},
		{renderer().Metering(true).Reporting().Quiet(), "[metrics:5670 metrics:5671 metrics:5672]"},
		{renderer().Reporting().Metering(true).Unmetered(), "[]"},
	} {
		if got := fmt.Sprint(fetched(c.x.Render(r))); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestMetricsPortsOfOthers: a port that something else of the dataplane has gets no listener, and the document says
// so where it names the port.
func TestMetricsPortsOfOthers(t *testing.T) {
	t.Parallel()
	for port, owner := range map[int]string{
		80: "the inbound main", 8080: "the workload behind the inbound main", 9999: "the administration of its Envoy",
		15001: "its redirection", 15006: "its redirection", 15053: "its redirection", 9001: "its agent", 9902: "its agent",
	} {
		r := resolvedOf(t, "web-1", metricsPlane, metricsOn("{}", fmt.Sprintf("{port: %d}", port)))
		x := renderer().Metering(true)
		if got := fmt.Sprint(fetched(x.Render(r))); got != "[metrics:5670]" {
			t.Errorf("port %d: %s", port, got)
		}
		notes := x.Notes(r)
		if len(notes) != 1 || notes[0].Code != api.CodeConflicted || notes[0].Origin.Name != "all" || notes[0].Field != "spec.default.backends[1].prometheus.port" || !strings.Contains(notes[0].Message, owner) {
			t.Errorf("port %d: %v", port, notes)
		}
	}
}

// TestApplicationsOfOthers: an application at an address that is not the dataplane's is looked for nowhere, and the
// document says so.
func TestApplicationsOfOthers(t *testing.T) {
	t.Parallel()
	r := resolvedOf(t, "web-1", metricsPlane, "type: MeshMetric\nmesh: default\nname: all\nspec: {default: {backends: [{type: Prometheus, prometheus: {}}], applications: [{name: a, port: 1, address: 192.0.2.1}, {name: b, port: 1, address: 192.0.2.2}]}}\n")
	notes := renderer().Notes(r)
	if len(notes) != 1 || notes[0].Code != "NoEffect" || notes[0].Field != "spec.default.applications[1].address" {
		t.Errorf("%v", notes)
	}
}
