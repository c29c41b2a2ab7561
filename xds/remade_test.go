package xds_test

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// TestContentsMadeAgain: what a sidecar alone has is not kept, and is the same to the byte when
// it is asked for again, whatever documents say.
func TestContentsMadeAgain(t *testing.T) {
	t.Parallel()
	catalog := world.Catalog()
	forgotten := 0
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, catalog, rapid.IntRange(2, 6).Draw(t, "steps"))
		m, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
		x := xds.NewRenderer(world.Kinds())
		var all []*resource.Resource
		var before [][]byte
		var kept []weak.Pointer[anypb.Any]
		for r := range m.Dataplanes("") {
			for e := range x.Render(r).All() {
				all, before = append(all, e), append(before, bytes.Clone(e.Content().GetValue()))
				kept = append(kept, weak.Make(e.Content()))
			}
		}
		runtime.GC()
		for i, r := range all {
			if own := strings.HasPrefix(r.Name, "inbound:") && !strings.HasPrefix(r.Name, "inbound:passthrough:"); own != (kept[i].Value() == nil) {
				t.Errorf("%s: made again: %v", r.Name, !own)
			} else if own {
				forgotten++
			}
			if again := r.Content().GetValue(); !bytes.Equal(again, before[i]) || r.Size() != len(again) {
				t.Errorf("%s: %d bytes, made again %d of %d, and not the same", r.Name, len(before[i]), len(again), r.Size())
			}
		}
	})
	if forgotten == 0 {
		t.Error("nothing had to be made again")
	}
}

// TestContentMadeForMany: those who ask at once for what has to be made get one content.
func TestContentMadeForMany(t *testing.T) {
	t.Parallel()
	s := renderer().Render(sidecar(nil, nil, &effective.Inbound{Address: "192.168.0.1", Port: 80, ServiceAddress: "127.0.0.1", ServicePort: 8080, Protocol: api.HTTP}))
	r := s.Listeners[0]
	runtime.GC()
	var wait sync.WaitGroup
	got := make([]*anypb.Any, 16)
	for i := range got {
		wait.Go(func() { got[i] = r.Content() })
	}
	wait.Wait()
	for _, a := range got {
		if a != got[0] {
			t.Error("it is made more than once")
		}
	}
	runtime.KeepAlive(s)
}
