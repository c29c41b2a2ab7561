package control

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// collectAt is how much the heap may grow, in percent, before garbage is
// collected: the state of many sidecars lives long, and half of Go's default
// costs little time and saves a quarter of the memory.
const collectAt = 50

// look is how often burst looks whether it is calm.
const look = time.Second

// returnFreeMemory makes the process keep little more memory than it needs, until ctx ends.
// It leaves the garbage collector alone where GOGC says something.
func returnFreeMemory(ctx context.Context) {
	if said := debug.SetGCPercent(collectAt); said != 100 {
		debug.SetGCPercent(said)
		return
	}
	go func() {
		ticker := time.NewTicker(look)
		defer ticker.Stop()
		b := burst{last: allocated()}
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if now, live := allocated(), live(); b.over(now, live) {
					debug.FreeOSMemory()
				}
			}
		}
	}()
}

// burst tells when one is over, such as that all sidecars connect at once: its
// garbage, and the stacks that it made grow, would stay for as long as nothing
// happens. So much must have been allocated since memory was given back last that the
// collector would have run once by itself, so that it runs at most twice as often.
type burst struct {
	last  uint64 // bytes allocated when it was looked at
	since uint64 // bytes allocated when memory was given back
}

// over reports whether memory is to be given back, of bytes allocated in the
// process's life and bytes that live: it is calm, and much was allocated before.
func (b *burst) over(allocated, live uint64) bool {
	calm := allocated-b.last < live/64
	b.last = allocated
	if !calm || allocated-b.since < live/2 {
		return false
	}
	b.since = allocated
	return true
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 { return sample("/gc/heap/allocs:bytes") }

// live is how many bytes the last collection left.
func live() uint64 { return sample("/gc/heap/live:bytes") }

func sample(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
