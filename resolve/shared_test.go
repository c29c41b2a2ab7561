package resolve_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestWhatAppliesAlikeIsShared: dataplanes to which the same applies hold the
// same values, not equal ones; a policy that tells them apart separates only
// what it is about.
func TestWhatAppliesAlikeIsShared(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	plane := func(name, team string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","labels":{"team":"`+team+`"},"networking":{"address":"127.0.0.1",
			"inbound":[{"port":8080,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],
			"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`)
	}
	timeout := worlds.Decode(t, c.catalog, `{"type":"MeshTimeout","mesh":"default","name":"x","spec":{"targetRef":{"kind":"Dataplane","labels":{"team":"x"}},
		"to":[{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"1s"}}]}}`)
	s := api.NewSnapshot(1, plane("a", "x"), plane("b", "x"), plane("c", "y"), timeout)
	model, _ := resolve.Compile(s, c.dialects, c.kinds)
	at := func(name string) *resolve.Resolved {
		r, ok := model.Dataplane(api.Ref{Kind: "Dataplane", Mesh: "default", Name: name})
		if !ok {
			t.Fatal("no dataplane", name)
		}
		return r
	}
	a, b, other := at("a"), at("b"), at("c")
	if a.Outbounds[0].Table != b.Outbounds[0].Table {
		t.Error("two of one class have a route table each")
	}
	if a.Clusters[0].Cluster != b.Clusters[0].Cluster {
		t.Error("two of one class have a cluster each")
	}
	if a.Clusters[0].Cluster == other.Clusters[0].Cluster {
		t.Error("a policy for one class reaches another")
	}
	if a.Clusters[0].Endpoints != other.Clusters[0].Endpoints {
		t.Error("endpoints differ by class")
	}
}
