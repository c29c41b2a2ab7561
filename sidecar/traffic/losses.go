package traffic

import (
	"context"
	"io"
	"math"
	"sync"
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
)

// writtenPath asks for writtenName alone.
const writtenPath = `stats?usedonly&type=Counters&filter=^access_logs\.grpc_access_log\.logs_written$`

// How long lines may be on their way at the end of a tap, and how often that is looked at.
const (
	linesArrive = 800 * time.Millisecond
	linesLook   = 100 * time.Millisecond
)

// Losses knows of each tap how many lines Envoy wrote while it ran that never came: Envoy drops those for which it has
// no room, and counts them as written all the same (spec/telemetry.md F16). It may be used by several goroutines.
type Losses struct {
	mu   sync.Mutex
	taps map[string]baseline
}

// baseline is how many lines were missing when a tap began.
type baseline struct {
	life    any // of Envoy
	missing int64
}

// Begin notes how many lines are missing as a tap begins, before Envoy writes lines for it; a tap that runs goes on.
func (l *Losses) Begin(ctx context.Context, from *MeterSource, tap string) {
	l.mu.Lock()
	_, known := l.taps[tap]
	l.mu.Unlock()
	if known {
		return
	}
	life := from.Life()
	n, err := missing(ctx, from)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taps == nil || len(l.taps) > 2*attach.MostTaps { // of those that did not end by a question
		l.taps = map[string]baseline{}
	}
	l.taps[tap] = baseline{life, n}
}

// End is how many lines were lost since a tap began, once Envoy writes none for it any more; 0 where nobody knows. Each
// line of the sidecar counts, also those that the tap did not ask for.
func (l *Losses) End(ctx context.Context, from *MeterSource, tap string) uint64 {
	l.mu.Lock()
	b, known := l.taps[tap]
	delete(l.taps, tap)
	l.mu.Unlock()
	if !known || b.life != from.Life() {
		return 0
	}
	return b.lost(ctx, from)
}

// lost waits for lines that are on their way: those of other taps go on.
func (b baseline) lost(ctx context.Context, from *MeterSource) uint64 {
	least := int64(math.MaxInt64)
	for end := time.Now().Add(linesArrive); ; {
		now, err := missing(ctx, from)
		if err != nil || now <= b.missing {
			return 0
		}
		if least = min(least, now-b.missing); time.Now().After(end) {
			return uint64(least)
		}
		select {
		case <-ctx.Done():
			return 0
		case <-time.After(linesLook):
		}
	}
}

// missing is how many lines Envoy has written that have not come.
func missing(ctx context.Context, from *MeterSource) (int64, error) {
	received := from.Received()
	body, err := from.Get(ctx, writtenPath)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	written, err := readCounters(io.LimitReader(body, mostAnswer), func([]byte, int, counter, uint64) {})
	return int64(written) - int64(received), err
}
