package server_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/server"
)

// TestWhoServesMetrics: an Envoy gets a listener for metrics where its node says that its agent serves them, and one
// with TLS where it says that there is a certificate: others would refuse what their bootstrap does not name.
func TestWhoServesMetrics(t *testing.T) {
	t.Parallel()
	x := xds.NewRenderer(world.Kinds()).Reporting()
	p := serve(t, func(o *server.Options) {
		o.Renderer, o.RendererFor = x, server.ByFeatures(x.For)
	},
		"type: Dataplane\nmesh: default\nname: web\nnetworking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}\n",
		"type: MeshMetric\nmesh: default\nname: all\nspec: {default: {backends: [{type: Prometheus, prometheus: {}}, {type: Prometheus, prometheus: {port: 5671, tls: {mode: ProvidedTLS}}}]}}\n")
	for want, features := range map[string][]any{
		"":                          {bootstrap.RequestsFeature},
		"metrics:5670":              {bootstrap.RequestsFeature, bootstrap.MetricsFeature},
		"metrics:5670,metrics:5671": {bootstrap.RequestsFeature, bootstrap.MetricsFeature, bootstrap.MetricsTLSFeature},
	} {
		c := p.delta("default.web", "")
		metadata, err := structpb.NewStruct(map[string]any{"features": features})
		if err != nil {
			t.Fatal(err)
		}
		c.node.Metadata = metadata
		var got []string
		for _, name := range slices.Sorted(maps.Keys(c.configure()["lds"])) {
			if strings.HasPrefix(name, "metrics:") {
				got = append(got, name)
			}
		}
		c.end()
		if strings.Join(got, ",") != want {
			t.Errorf("with %v: %q, want %s", features, got, want)
		}
	}
}
