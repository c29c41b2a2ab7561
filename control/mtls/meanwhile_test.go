package mtls

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// TestAStreamTellsOfItselfMeanwhile: whether all sidecars know that an inbound takes TLS is asked of
// their streams, each of which may be telling of itself right then; neither waits for the other.
func TestAStreamTellsOfItselfMeanwhile(t *testing.T) {
	t.Parallel()
	p := unserved(t)
	told := api.DataplaneInsight{Identity: true, TLS: true, Plain: true}
	web := worlds.Decode(t, world.Catalog(), `{"type":"Dataplane","mesh":"default","name":"web-1","networking":{"address":"127.0.0.1","inbound":[{"port":80,"tags":{"kuma.io/service":"web"}}]}}`)
	m, _ := world.Compile(snapshot.New(1, web, &api.Object{Ref: api.InsightRef(web.Ref), Spec: &told},
		worlds.Decode(t, world.Catalog(), `{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}}`)))
	p.mu.Lock()
	*p.entry(web.Ref.AsNode()) = insight{at: placeOf(web.Ref), told: &told, passing: &passing{plainSince: time.Now()}}
	p.mu.Unlock()
	asked, done := false, make(chan struct{})
	go func() {
		defer close(done)
		p.one(m, web.Ref.AsNode(), time.Now(), func(string) bool {
			asked = true
			p.Enqueue(web.Ref)
			return true
		})
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("who asks a stream and the stream wait for each other")
	}
	if !asked {
		t.Error("no stream was asked")
	}
}
