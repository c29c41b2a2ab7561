package server_test

import (
	"context"
	"testing"

	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// TestAStreamIsHeld: as long as somebody keeps the stream of a dataplane, it counts for nothing and is
// sent nothing, and others are served; let go, it is configured by what holds then. Who keeps
// one is told when it ends.
func TestAStreamIsHeld(t *testing.T) {
	t.Parallel()
	held, free, over := make(chan syncstatus.Peer), make(chan struct{}), make(chan error)
	p := two(t, func(o *server.Options) {
		o.Hold = func(ctx context.Context, who syncstatus.Peer) {
			if who.Dataplane.Name != "front" {
				return
			}
			held <- who
			select {
			case <-free:
			case <-ctx.Done():
			}
			over <- ctx.Err()
		}
	})
	first := p.delta("default.front", "")
	first.ask("cds", nil)
	<-held
	if s, known := p.Status(dataplaneRef("front")); known && s.Connected {
		t.Error("a stream counts that is held")
	}
	first.end()
	if err := <-over; err == nil {
		t.Error("who holds is not told that the stream has ended")
	}

	second := p.delta("default.front", "")
	second.ask("cds", nil)
	if who := <-held; who.Dataplane != dataplaneRef("front") {
		t.Errorf("held is %s", who.Dataplane)
	}
	other := p.delta("default.other", "")
	other.configure()
	p.synced("other")
	p.apply(service("late", 10003), member("late", 10003), caller("front", map[uint32]string{20001: "late"}))
	second.quiet("it is held")
	close(free)
	if err := <-over; err != nil {
		t.Error(err)
	}
	if got := resources(second.next("cds")); len(got) == 0 {
		t.Error("it is not configured")
	}
}
