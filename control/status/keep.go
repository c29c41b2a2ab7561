package status

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// Guard makes a panic an error: a bug that a writer of the leader meets ends no process,
// and the next leader would meet it too. Whoever starts a goroutine guards it by itself.
func Guard(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a bug: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}

// Keep is the life of a writer of the leader: note is told what changes in a store, from one
// goroutine, and step does what is due, every so often, from another; until ctx or the store
// ends, or either panics.
func Keep(ctx context.Context, s store.Store, every time.Duration, note func([]snapshot.Change), step func(context.Context, time.Time)) error {
	_, watch := s.Watch() // before the first step, which sees what is not told
	defer watch.Stop()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		return Guard(func() error {
			for {
				_, changes, err := watch.Next(ctx)
				if err != nil {
					return err
				}
				note(changes)
			}
		})
	})
	both.Go(func() error {
		return Guard(func() error {
			t := time.NewTicker(every)
			defer t.Stop()
			for {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-t.C:
					step(ctx, time.Now())
				}
			}
		})
	})
	return both.Wait()
}
