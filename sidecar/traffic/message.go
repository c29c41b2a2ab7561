package traffic

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/requests"
)

// Bounds of a message (spec/telemetry.md L5).
const (
	mostBytes   = 1024
	mostBusy    = 32 // slots of an interval
	mostFailing = 16 // beside those
	tellCauses  = 8  // of a slot
)

// row is a slot of which there is something to tell.
type row struct {
	at requests.SlotKey
	*slot
}

// fill tells where attempts failed, and what is due: slots with failures and the busiest ones by themselves, the others of a table as a
// sum, as far as there is room. What has none stays due.
func (m *Meter) fill(out *attach.Traffic, failed map[requests.HostKey]*requests.HostTally) {
	rows := m.due()
	alone := chosen(rows)
	size := proto.Size(out)
	size += m.hosts(out, failed)
	tables := map[string]*attach.Table{}
	sums := map[string]*slot{}
	for _, r := range alone { // the most important first
		size += m.put(out, tables, r, size)
	}
	for _, r := range rows { // all others, and of those above what has found no room
		if r.empty() {
			continue
		}
		t := tables[r.at.Table]
		if t == nil {
			if t = m.table(r.at.Table); size+sizeOf(t)+sumRoom > mostBytes {
				continue
			}
			size += sizeOf(t)
			m.open(out, tables, t, r.at.Table)
		}
		if sums[r.at.Table] == nil {
			if size+sumRoom > mostBytes {
				continue
			}
			size += sumRoom
			sums[r.at.Table] = &slot{}
		}
		sums[r.at.Table].take(r.slot)
	}
	for name, sum := range sums {
		tables[name].Others = sum.message(0, false)
	}
	for name, sum := range sums { // why, as far as there is room
		others := tables[name].GetOthers()
		others.Causes = sum.becauses()
		for len(others.Causes) > 0 && proto.Size(out) > mostBytes {
			others.Causes = others.Causes[:len(others.Causes)-1]
		}
	}
}

// sumRoom is kept for the sum of a table without causes: its numbers, which have five bytes at most.
const sumRoom = int(counters)*6 + 5*requests.Buckets + 2 + 3

// due are the slots with something to tell, those with the most first.
func (m *Meter) due() []row {
	var rows []row
	for at, s := range m.slots {
		if !s.empty() {
			rows = append(rows, row{at, s})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.due.counts[completed], a.due.counts[completed]), cmp.Compare(a.at.Table, b.at.Table), cmp.Compare(a.at.Slot, b.at.Slot))
	})
	return rows
}

// chosen are those of rows, which begin with the busiest, that are told by themselves: those with failures
// first.
func chosen(rows []row) (alone []row) {
	var failing, busy []row
	for i, r := range rows {
		switch {
		case r.at.Slot == others:
		case r.fails() && (i < mostBusy || len(failing) < mostFailing):
			failing = append(failing, r)
		case i < mostBusy:
			busy = append(busy, r)
		}
	}
	slices.SortStableFunc(failing, func(a, b row) int { return cmp.Compare(b.due.counts[failed], a.due.counts[failed]) })
	return append(failing, busy...)
}

// put tells of one slot where there is room, with its causes or without, and returns by how much the message
// has grown.
func (m *Meter) put(out *attach.Traffic, tables map[string]*attach.Table, r row, size int) (grown int) {
	t := tables[r.at.Table]
	begun := 0
	if t == nil {
		t = m.table(r.at.Table)
		begun = sizeOf(t)
	}
	for _, causes := range []bool{true, false} {
		s := r.message(uint32(r.at.Slot), causes)
		grown = begun + sizeOf(s)
		if size+grown+sumRoom > mostBytes { // a sum has room beside it
			continue
		}
		if tables[r.at.Table] == nil {
			m.open(out, tables, t, r.at.Table)
		}
		t.Slots = append(t.Slots, s)
		r.due, r.causes = reading{}, nil
		return grown
	}
	return 0
}

// table is the message of a table; its name where that was not told.
func (m *Meter) table(name string) *attach.Table {
	k := m.known[name]
	if k == nil { // those that are too many
		k = &known{number: mostSlots + 1}
		m.known[name] = k
	}
	t := &attach.Table{Number: k.number}
	if !k.told {
		t.Name = cmp.Or(name, otherTables)
	}
	return t
}

func (m *Meter) open(out *attach.Traffic, tables map[string]*attach.Table, t *attach.Table, name string) {
	out.Tables = append(out.Tables, t)
	tables[name], m.known[name].told = t, true
}

// otherTables is the name of what is summed up of tables that are too many, which no virtual host has.
const otherTables = "*"

// sizeOf bounds what a message takes in another one.
func sizeOf(m proto.Message) int {
	n := proto.Size(m)
	return n + protowire.SizeVarint(uint64(n)) + 3 // its tag, and what lengths of those around it grow by
}

func (s *slot) empty() bool { return s.due == reading{} && len(s.causes) == 0 }

// fails reports whether somebody would look for a slot although it has few requests.
func (s *slot) fails() bool {
	return s.due.counts[failed] > 0 || len(s.causes) > 0
}

// take moves what is due of o to s.
func (s *slot) take(o *slot) {
	s.due.add(&o.due, &reading{})
	for c, n := range o.causes {
		s.because(c, n.count, n.sampled)
	}
	o.due, o.causes = reading{}, nil
}

// message is what is due of a slot.
func (s *slot) message(number uint32, causes bool) *attach.Slot {
	c := s.due.counts
	out := &attach.Slot{Slot: number, Completed: c[completed], Failed: c[failed], Denied: c[denied], Retried: c[retried], Timeouts: c[timeouts]}
	last := len(s.due.times)
	for last > 0 && s.due.times[last-1] == 0 {
		last--
	}
	if last > 0 {
		out.Durations = slices.Clone(s.due.times[:last])
	}
	if causes {
		out.Causes = s.becauses()
	}
	return out
}

// becauses are the causes of most requests, by number.
func (s *slot) becauses() (out []*attach.Cause) {
	for c, n := range s.causes {
		if count := rounded(n.count); count > 0 {
			out = append(out, &attach.Cause{Flags: c.Flags, Details: c.Details, Status: c.Status, Count: count, Sampled: n.sampled})
		}
	}
	slices.SortFunc(out, func(a, b *attach.Cause) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetFlags(), b.GetFlags()), cmp.Compare(a.GetDetails(), b.GetDetails()), cmp.Compare(a.GetStatus(), b.GetStatus()))
	})
	return out[:min(len(out), tellCauses)]
}
