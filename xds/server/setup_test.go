package server_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server"
)

// crowded notes how many configurations are rendered at the same time.
type crowded struct {
	*xds.Renderer
	now, most atomic.Int32
}

func (c *crowded) Render(r *effective.Resolved) *resource.State {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	for range 100 {
		runtime.Gosched() // let others in
	}
	return c.Renderer.Render(r)
}

// TestStreamsAreSetUpByFew: when all sidecars connect at once, no more of their
// configurations are made at the same time than there are processors.
func TestStreamsAreSetUpByFew(t *testing.T) {
	t.Parallel()
	const sidecars = 40
	spy := &crowded{Renderer: xds.NewRenderer(world.Kinds())}
	var documents []string
	for i := range sidecars {
		documents = append(documents, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"d-%d","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"x","kuma.io/protocol":"http"}}],"outbound":[{"port":%d,"tags":{"kuma.io/service":"x"}}]}}`, i, 10000+i))
	}
	p := serve(t, func(o *server.Options) { o.Renderer = spy }, documents...)
	var all sync.WaitGroup
	for i := range sidecars {
		c := p.delta(fmt.Sprintf("default.d-%d", i), "")
		all.Go(func() { c.configure() })
	}
	all.Wait()
	for i := range sidecars {
		p.synced(fmt.Sprintf("d-%d", i))
	}
	if most := int(spy.most.Load()); most == 0 || most > runtime.GOMAXPROCS(0) {
		t.Errorf("%d configurations were rendered at the same time, on %d processors", most, runtime.GOMAXPROCS(0))
	}
}
