package metric_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/envoy"
)

// planes are one with an inbound, one that calls nothing and is called by nobody, and one of another service.
const planes = `{type: Dataplane, mesh: default, name: web-1, labels: {app: web}, networking: {address: 192.0.2.1, inbound: [{port: 80, name: main, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: Dataplane, mesh: default, name: edge-1, labels: {app: edge}, networking: {address: 192.0.2.2, gateway: {type: BUILTIN, tags: {kuma.io/service: edge}}}}
---
{type: Dataplane, mesh: default, name: db-1, labels: {app: db}, networking: {address: 192.0.2.3, inbound: [{port: 5670, name: main, tags: {kuma.io/service: db, kuma.io/protocol: tcp}}]}}
---
`

func compile(t *testing.T, text string) *resolve.Model {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), "", []byte(planes+text))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	m, _ := world.Compile(snapshot.New(1, append(objects, world.DefaultMesh())...))
	return m
}

func metricsOf(t *testing.T, m *resolve.Model, name string) *envoy.SidecarMetrics {
	t.Helper()
	r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	for _, o := range r.Outbounds {
		if o.Policies.Of("MeshMetric") != nil {
			t.Error("a MeshMetric holds of what " + name + " calls")
		}
	}
	for _, in := range r.Inbounds {
		if in.Policies.Of("MeshMetric") != nil {
			t.Error("a MeshMetric holds of what comes in at " + name)
		}
	}
	return envoy.MetricsOf(r)
}

// TestOfDataplanes: a conf holds once of each dataplane that is selected, whatever it calls; nearer refs win, lists
// replace, and profiles add up.
func TestOfDataplanes(t *testing.T) {
	t.Parallel()
	m := compile(t, `{type: MeshMetric, mesh: default, name: all, spec: {default: {sidecar: {profiles: {appendProfiles: [{name: All}]}}, backends: [{type: Prometheus, prometheus: {port: 9000}}]}}}
---
{type: MeshMetric, mesh: default, name: web, spec: {targetRef: {kind: Dataplane, labels: {app: web}}, default: {sidecar: {profiles: {appendProfiles: [{name: None}]}}, backends: [{type: Prometheus, prometheus: {port: 9001}}]}}}
---
{type: MeshMetric, mesh: default, name: none, spec: {targetRef: {kind: MeshSubset, tags: {kuma.io/service: db}}, default: {backends: []}}}
`)
	for name, port := range map[string]uint32{"web-1": 9001, "edge-1": 9000} {
		got := metricsOf(t, m, name)
		if got.Closed() || len(got.Ports) != 1 || got.Ports[0].Port != port || got.Profile != envoy.MetricsAll {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := metricsOf(t, m, "db-1"); !got.Closed() {
		t.Errorf("db-1: %+v", got)
	}
}

// TestCeiling: an override of profiles replaces what all say, so that an operator sets a bound.
func TestCeiling(t *testing.T) {
	t.Parallel()
	m := compile(t, `{type: MeshMetric, mesh: default, name: all, spec: {default: {backends: [{type: Prometheus, prometheus: {}}]}, override: {sidecar: {profiles: {appendProfiles: [{name: None}]}}}}}
---
{type: MeshMetric, mesh: default, name: web, spec: {targetRef: {kind: Dataplane, labels: {app: web}}, default: {sidecar: {profiles: {appendProfiles: [{name: All}]}}}}}
`)
	if got := metricsOf(t, m, "web-1"); got.Profile != envoy.MetricsNone {
		t.Errorf("%+v", got)
	}
}

// TestWhatHasNoEffect: it is said of fields without a backend, and of a port that an inbound has, on the document.
func TestWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, code, field, words string }{
		{"{type: MeshMetric, mesh: default, name: all, spec: {default: {applications: [{port: 1}]}}}", "NoEffect", "spec.default", "applications has no effect: no policy names a backend"},
		{"{type: MeshMetric, mesh: default, name: all, spec: {default: {backends: [{type: Prometheus, prometheus: {}}]}}}", "Conflicted", "spec.default.backends[0].prometheus.port", "Dataplane/default/db-1 port 5670 belongs to the inbound main"},
		{"{type: MeshMetric, mesh: default, name: all, spec: {default: {backends: [{type: OpenTelemetry, openTelemetry: {backendRef: {kind: MeshOpenTelemetryBackend, name: nowhere}}}]}}}", "BackendNotFound", "spec.default.backends[0].openTelemetry.backendRef", "nowhere"},
	} {
		ref := api.Ref{Kind: "MeshMetric", Mesh: "default", Name: "all"}
		for what, list := range map[string][]api.Note{"all": notes.All(compile(t, c.text).Reader(nil)), "one": notes.On(compile(t, c.text).Reader(nil), ref)} {
			found := false
			for _, n := range list {
				found = found || n.Code == c.code && n.Origin.Ref == ref && string(n.Field) == c.field && strings.Contains(n.Message, c.words)
			}
			if !found {
				t.Errorf("%s: %s is not said of %s: %v", what, c.code, c.field, list)
			}
		}
	}
}

// TestImpact: a document is about the dataplanes that it selects, and explained as such.
func TestImpact(t *testing.T) {
	t.Parallel()
	m := compile(t, `{type: MeshMetric, mesh: default, name: web, spec: {targetRef: {kind: Dataplane, labels: {app: web}}, default: {backends: [{type: Prometheus, prometheus: {}}]}}}`).Reader(nil)
	ref := api.Ref{Kind: "MeshMetric", Mesh: "default", Name: "web"}
	for _, x := range m.ImpactOf("default", []api.Ref{ref}, nil) {
		if len(x.Placements) != 1 || x.Placements[0].Whole == nil || x.Placements[0].At.Ref.Name != "web-1" {
			t.Errorf("%+v", x.Placements)
		}
	}
	for name, has := range map[string]bool{"web-1": true, "db-1": false} {
		r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
		if r.ObjectSet()[ref] != has {
			t.Errorf("%s: %v", name, r.Objects())
		}
		if why := m.WhyNot(ref, r.Ref); !has && (len(why) != 1 || why[0].Code != "NotSelected") {
			t.Errorf("%s: %v", name, why)
		}
	}
}
