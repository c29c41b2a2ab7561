package process

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much the heap may grow, in percent, before garbage is collected. The state of many
// sidecars lives long, and lies between the garbage of the time when it was made: what a
// burst leaves half empty nobody gives back. A third of Go's default keeps a tenth of the
// memory of 2,000 sidecars free. Where little lives the default does no harm, and halves the
// collections.
const (
	growMost  = 100
	growLeast = 33
)

// smallGrowth is how many bytes the heap grows by growMost at most.
const smallGrowth = 48 << 20

// growth is how much the heap may grow in percent of so many bytes that live.
func growth(live uint64) int {
	return int(min(max(smallGrowth*100/max(live, 1), growLeast), growMost))
}

// look is how often burst looks whether it is calm: often, so that memory goes back before
// much else happens.
const look = time.Second / 5

// ReturnFreeMemory makes the process keep little more memory than it needs, until ctx ends.
// It leaves the garbage collector alone where GOGC says something.
func ReturnFreeMemory(ctx context.Context) {
	set := growLeast
	if said := debug.SetGCPercent(set); said != growMost {
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
				live := live()
				if want := growth(live); want != set {
					debug.SetGCPercent(want)
					set = want
				}
				if b.over(allocated(), live) {
					debug.FreeOSMemory()
				}
			}
		}
	}()
}

// burst tells when one is over, such as that all sidecars connect at once: its
// garbage, and the stacks that it made grow, would stay for as long as nothing
// happens. Half of what lives must have been allocated since memory was given back last:
// where the heap may grow by that much the collector runs at most twice as often, where
// it may grow by as much as lives three times. A quarter is enough where it came at
// once, or what a burst leaves would be collected during whatever small follows it. What
// comes little by little, such as one write after the other, is no burst: it leaves no more
// than the collector allows.
type burst struct {
	last  uint64 // bytes allocated when it was looked at
	since uint64 // bytes allocated since memory was given back, but for what came little by little
	most  uint64 // bytes allocated from one look to the next, since then
}

// littleByLittle is how many bytes are allocated from one look to the next at most by what
// is no burst.
const littleByLittle = 4 << 20

// atOnce is how many bytes are allocated from one look to the next at least by what is
// a burst alone. A change that many sidecars get allocates less.
const atOnce = 16 << 20

// over reports whether memory is to be given back, of bytes allocated in the
// process's life and bytes that live: it is calm, and much was allocated before.
func (b *burst) over(allocated, live uint64) bool {
	now := allocated - b.last
	b.last, b.most = allocated, max(b.most, now)
	if now >= littleByLittle {
		b.since += now
	}
	calm := now < live/256
	if !calm || b.since < live/2 && b.most < max(live/4, atOnce) {
		return false
	}
	b.since, b.most = 0, 0
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
