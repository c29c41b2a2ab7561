package server_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/server"
)

// TestWhoWritesOfRequests: an Envoy whose node says that its agent takes lines of requests is sent loggers; one
// of an older agent, of Kuma's or of nobody's is not, for it would refuse a listener that names a cluster that
// its bootstrap has not.
func TestWhoWritesOfRequests(t *testing.T) {
	t.Parallel()
	reporting := xds.NewRenderer(world.Kinds()).Reporting()
	p := serve(t, func(o *server.Options) {
		o.Renderer, o.RendererFor = reporting, server.ByFeatures(reporting.For)
	},
		"type: Dataplane\nmesh: default\nname: front\nnetworking: {address: 127.0.0.1, outbound: [{port: 20001, tags: {kuma.io/service: web}}]}\n",
		"type: Dataplane\nmesh: default\nname: web\nnetworking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}\n")
	listener := func(features ...any) string {
		t.Helper()
		c := p.delta("default.front", "")
		if features != nil {
			metadata, err := structpb.NewStruct(map[string]any{"features": features})
			if err != nil {
				t.Fatal(err)
			}
			c.node.Metadata = metadata
		}
		defer c.end()
		for _, version := range c.configure()["lds"] {
			return version
		}
		t.Fatal("there is no listener")
		return ""
	}
	none, kuma, taken := listener(), listener("feature-other"), listener("feature-other", bootstrap.RequestsFeature)
	if none != kuma || none == taken {
		t.Errorf("listeners without an agent: %s, with one of Kuma's: %s, with one that takes lines: %s", none, kuma, taken)
	}
}
