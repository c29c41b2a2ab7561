package leader

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weftmesh/weft/control/status"
)

// The pauses before a writer that has failed is started again.
const (
	firstRestart = time.Second
	lastRestart  = 30 * time.Second
)

// writer is work that one replica of a cluster does.
type writer struct {
	name string
	run  func(context.Context) error
}

// Writers are what the replica that leads does.
type Writers struct {
	log *slog.Logger
	all []writer
}

func NewWriters(log *slog.Logger) *Writers { return &Writers{log: log} }

// Add adds work that only the replica that leads does, before run. It runs while this replica leads,
// when everything was read and resolved once; its context ends with the leadership. Work that returns
// while it should run is started again, later each time, and touches no other. Nothing of it
// arrives that was sent by a replica which leads no more, and every write carries the version that it was
// computed from or applies fields of its own.
func (w *Writers) Add(name string, run func(context.Context) error) {
	w.all = append(w.all, writer{name, run})
}

// Run runs all writers until ctx ends.
func (w *Writers) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, x := range w.all {
		running.Go(func() { w.keep(ctx, x) })
	}
	running.Wait()
	<-ctx.Done()
}

// keep runs a writer until ctx ends, whatever happens in it.
func (w *Writers) keep(ctx context.Context, x writer) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstRestart, Multiplier: 2, MaxInterval: lastRestart}
	for {
		started := time.Now()
		err := status.Guard(func() error { return x.run(ctx) })
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > lastRestart {
			pauses.Reset()
		}
		pause := pauses.NextBackOff()
		w.log.Error("a writer of the leader has ended; it is started again", "writer", x.name, "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
