// Package traffic is what the agent tells the control plane of requests: differences of the counters that the
// sidecar's Envoy keeps of routes, and what lines say of requests that no counter has (spec/telemetry.md 3).
//
// It promises that nothing is told twice, that no number is negative, whatever becomes of Envoy or of the
// stream, that a message has at most a kilobyte and the agent keeps at most half a megabyte, and that
// what finds no room in a message is told by a later one or as a sum.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/requests"
)

// Bounds of what is kept.
const (
	mostSlots  = 800      // with counters of their own; the others of a table are one sum
	mostAnswer = 16 << 20 // of what is read of Envoy's answers, in bytes
	mostTable  = 256      // bytes of a name
)

// others is the slot of those of a table that are summed up.
const others = requests.NoSlot

// MeterSource is what a Meter reads.
type MeterSource struct {
	// Get asks the administration of the Envoy that runs.
	Get func(ctx context.Context, path string) (io.ReadCloser, error)
	// Life is one of each life of Envoy, whose counters begin at zero; nil while there is none.
	Life func() any
	// Received is how many lines came.
	Received func() uint64
	// Log is what those said that were of failed requests.
	Log *requests.Log
}

// Meter makes the messages of one stream.
type Meter struct {
	from MeterSource

	slots    map[requests.SlotKey]*slot
	known    map[string]*known // tables, by name
	clusters map[string]uint32 // that were told, by name
	life     any
	used     int // slots of which Envoy has counters
	pulled   time.Time
	began    bool
	written  uint64 // lines since the stream began
	received uint64
	last     struct{ written, received uint64 } // as Envoy and the agent counted them
	sent     struct{ written, received uint64 }
}

// New is a Meter for one stream.
func New(from MeterSource) *Meter {
	return &Meter{from: from, slots: map[requests.SlotKey]*slot{}, known: map[string]*known{}, clusters: map[string]uint32{}}
}

// known is a table, as it is called on the stream.
type known struct {
	name   string // there is one in memory
	number uint32
	told   bool // the name, with the number
}

// reading is what Envoy says of a slot. Numbers wrap around after four billion requests, which looks like an
// Envoy that began again.
type reading struct {
	counts [counters]uint32
	times  [requests.Buckets]uint32
}

// slot is what is known of the routes that share a number.
type slot struct {
	now, before reading          // of what Envoy has counted since it began
	due         reading          // not told yet
	fresh       [counters]uint32 // of what is due, that of the interval that ends now
	timeout     uint8            // the bucket of the last request that timed out and had a line, from 1; 0: none had
	causes      map[requests.LineCause]*cause
}

type cause struct {
	count   float64
	sampled bool
}

// Next is what there is to tell since Next was called before. The first call is the baseline, from which
// there is nothing to tell: nil.
func (m *Meter) Next(ctx context.Context) (*attach.Traffic, error) {
	life := m.from.Life()
	switch {
	case life == nil && !m.began: // all that an Envoy counts which is not up yet is of this stream
		m.begin(time.Now())
		return nil, nil
	case life == nil:
		return nil, errors.New("count requests: envoy is not up yet")
	}
	if life != m.life {
		m.restart(life)
	}
	if err := m.pull(ctx); err != nil {
		return nil, err
	}
	if m.from.Life() != life { // what was read may be of both
		return nil, errors.New("count requests: envoy began again meanwhile")
	}
	tallies, failed, now := m.from.Log.Take(), m.from.Log.TakeHosts(), time.Now()
	first := !m.began
	for _, s := range m.slots {
		s.advance(first)
	}
	if first {
		m.begin(now)
		return nil, nil
	}
	m.join(tallies)
	out := &attach.Traffic{Milliseconds: uint32(now.Sub(m.pulled).Milliseconds()), ErrorsPpm: m.from.Log.Sampler.PPM(), Names: uint32(m.used)}
	out.Written, out.Received = m.lines()
	m.pulled = now
	m.fill(out, failed)
	return out, nil
}

// begin is the baseline: what came before is of nobody.
func (m *Meter) begin(now time.Time) {
	m.began, m.pulled, m.last.received = true, now, m.from.Received()
	m.from.Log.Take()
	m.from.Log.TakeHosts()
}

// restart forgets what an Envoy had counted that is no more. What is due stays so.
func (m *Meter) restart(life any) {
	for _, s := range m.slots {
		s.before, s.now = reading{}, reading{}
	}
	m.life, m.last.written = life, 0
}

// pull reads what Envoy has counted.
func (m *Meter) pull(ctx context.Context) error {
	for _, s := range m.slots {
		s.now = reading{}
	}
	m.used = 0
	received := m.from.Received() // before Envoy says how many it has written, so that none is missed that was not
	at := requests.SlotKey{Slot: others - 1}
	var written uint64
	err := m.ask(ctx, countersPath, func(text io.Reader) (err error) {
		written, err = readCounters(text, func(table []byte, number int, c counter, n uint64) {
			if string(table) != at.Table || number != at.Slot {
				at = requests.SlotKey{Table: m.name(table), Slot: number}
				m.used++
			}
			m.slot(at).now.counts[c] += uint32(n)
		})
		return err
	})
	if err != nil {
		return err
	}
	err = m.ask(ctx, timesPath, func(text io.Reader) error {
		return readTimes(text, func(table []byte, number int, times *[requests.Buckets]uint64) {
			s := m.slot(requests.SlotKey{Table: m.name(table), Slot: number})
			for i, n := range times {
				s.now.times[i] += uint32(n)
			}
		})
	})
	if err != nil {
		return err
	}
	m.note(written, received)
	return nil
}

func (m *Meter) ask(ctx context.Context, path string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, attach.AnswerWithin)
	defer cancel()
	body, err := m.from.Get(ctx, path)
	if err != nil {
		return fmt.Errorf("count requests: %w", err)
	}
	defer body.Close()
	if err := read(io.LimitReader(body, mostAnswer)); err != nil {
		return fmt.Errorf("count requests: %w", err)
	}
	return nil
}

// note takes how many lines were written and received until now.
func (m *Meter) note(written, received uint64) {
	if written < m.last.written { // it began again
		m.last.written = 0
	}
	if m.began {
		m.written, m.received = m.written+written-m.last.written, m.received+received-m.last.received
	}
	m.received = min(m.received, m.written) // or some were on their way when the stream began
	m.last.written, m.last.received = written, received
}

// lines are those that were written, and those of them that came, since they were told before.
func (m *Meter) lines() (written, received uint64) {
	written, received = m.written-m.sent.written, m.received-m.sent.received
	m.sent.written, m.sent.received = m.written, m.received
	return written, received
}

// name is a table's name, of which there is one in memory.
func (m *Meter) name(table []byte) string {
	if len(table) > mostTable || len(table) == 0 {
		return "" // nobody's name is so long: the others of all tables
	}
	if k := m.known[string(table)]; k != nil {
		return k.name
	}
	if len(m.known) >= mostSlots {
		return ""
	}
	k := &known{name: string(table), number: uint32(len(m.known)) + 1}
	m.known[k.name] = k
	return k.name
}

// slot is that of a place, or of the others of its table where there are too many.
func (m *Meter) slot(at requests.SlotKey) *slot {
	for _, at := range []requests.SlotKey{at, {Table: at.Table, Slot: others}, {Slot: others}} {
		if s := m.slots[at]; s != nil {
			return s
		}
		if len(m.slots) < mostSlots || at.Slot == others && at.Table == "" {
			s := &slot{}
			m.slots[at] = s
			return s
		}
	}
	panic("unreachable: the last place is always there")
}

// advance adds to what is due what was counted since the reading before; nothing at the first.
func (s *slot) advance(first bool) {
	s.fresh = [counters]uint32{}
	if !first {
		var r reading
		r.add(&s.now, &s.before)
		s.fresh = r.counts
		s.due.add(&r, &reading{})
	}
	s.before = s.now
}

// add adds what now has more than before. Where that is less, Envoy began again.
func (r *reading) add(now, before *reading) {
	for i, n := range now.counts {
		r.counts[i] += more(n, before.counts[i])
	}
	for i, n := range now.times {
		r.times[i] += more(n, before.times[i])
	}
}

func more(now, before uint32) uint32 {
	if now < before {
		return now
	}
	return now - before
}
