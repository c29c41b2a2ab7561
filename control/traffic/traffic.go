// Package traffic takes what sidecars count of requests by the streams of their agents, and knows which
// rules of which routes that is of.
//
// It promises that a sidecar speaks for its own dataplane alone, that nothing waits for it, and that it
// takes part of one core at most: where that is too little, sidecars are asked to report less often.
package traffic

import (
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/naming"
)

// Bounds of what one stream may tell: tables, the length of their names, and how soon after another a
// report may come.
const (
	mostTables   = 2048
	longestName  = 256
	soonest      = time.Second
	longest      = 5 * time.Minute
	longestCause = 64
)

// TrafficCollector has the sums of one replica.
type TrafficCollector struct {
	dataplane func(api.Ref) (*effective.Resolved, bool)
	now       func() time.Time
	every     func(time.Duration)
	answering chan struct{} // holds one while Series are told

	mu     sync.Mutex
	sums   *traffic.Sums
	totals *traffic.Totals // nil where nobody collects series
	load   load
}

// New takes reports of the dataplanes that dataplane knows, by the name that their sidecars have for them,
// which come once in often; every is told how often they are to come, when that changes.
func New(dataplane func(api.Ref) (*effective.Resolved, bool), now func() time.Time, often time.Duration, every func(time.Duration)) *TrafficCollector {
	return &TrafficCollector{dataplane: dataplane, now: now, every: every, sums: traffic.New(now()), load: load{often: often}}
}

// Answer is what this replica knows.
func (c *TrafficCollector) Answer(q traffic.TrafficQuery) traffic.PartialSums {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sums.Answer(c.now(), q)
}

// Size is how much is kept.
func (c *TrafficCollector) Size() traffic.Size {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sums.Size()
}

// Stream is for the reports of one stream, one after the other.
func (c *TrafficCollector) Stream(dataplane api.Ref) func(*attach.Traffic) {
	s := &stream{collector: c, dataplane: dataplane, tables: map[uint32]*table{}, clusters: map[uint32]*cluster{}}
	return s.take
}

// stream is what is known of one stream of an agent.
type stream struct {
	collector *TrafficCollector
	dataplane api.Ref
	last      time.Time
	resolved  *effective.Resolved
	from      traffic.Service
	tables    map[uint32]*table
	clusters  map[uint32]*cluster
}

// table is one by its number on the stream.
type table struct {
	name  string              // as Envoy's statistics write it
	seen  *effective.Resolved // in which it was looked for
	of    *effective.Table
	to    traffic.Service
	rules slotRules
}

// take takes one report.
func (s *stream) take(t *attach.Traffic) {
	now := s.collector.now()
	if passed := now.Sub(s.last); passed >= 0 && passed < soonest {
		return
	}
	s.last = now
	r, ok := s.collector.dataplane(s.dataplane)
	if !ok {
		return
	}
	if r != s.resolved {
		s.resolved, s.from = r, caller(r)
	}
	to, others := map[traffic.Service][]traffic.Counted{}, map[traffic.Service]traffic.Counts{}
	for _, counted := range t.GetTables() {
		known, rules := s.table(counted)
		if known == nil {
			continue
		}
		list, rest := split(counted, rules)
		to[known.to] = append(to[known.to], list...)
		sum := others[known.to]
		sum.Add(&rest)
		others[known.to] = sum
	}
	of := min(time.Duration(t.GetMilliseconds())*time.Millisecond, longest)
	s.collector.report(now, r.Ref, s.from, of, to, others)
	s.failedAt(now, t.GetHosts())
	if slices.ContainsFunc(t.GetTables(), failed) {
		s.collector.failed(now, r.Ref)
	}
}

// failed reports whether requests of a table failed or were denied, whoever called.
func failed(t *attach.Table) bool {
	did := func(s *attach.Slot) bool { return s.GetFailed() > 0 || s.GetDenied() > 0 || len(s.GetCauses()) > 0 }
	return slices.ContainsFunc(t.GetSlots(), did) || t.GetOthers() != nil && did(t.GetOthers())
}

// failed notes a sidecar that keeps requests which failed.
func (c *TrafficCollector) failed(now time.Time, dp api.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums.Failed(now, dp)
}

// report adds what a sidecar counted.
func (c *TrafficCollector) report(now time.Time, dp api.Ref, from traffic.Service, of time.Duration, to map[traffic.Service][]traffic.Counted, others map[traffic.Service]traffic.Counts) {
	c.mu.Lock()
	c.sums.Report(now, dp, from, of, to, others)
	if c.totals != nil {
		c.totals.Report(now, from, to, others)
	}
	changed, every := c.load.took(now, c.now().Sub(now)), c.load.every
	c.mu.Unlock()
	if changed {
		c.every(every)
	}
}

// table is the table of the dataplane that a report is of, with its rules by slot; nil where it has none,
// or the stream names too many. Of slots that have another rule than in the report before nobody knows
// whose requests were counted, so that they have none.
func (s *stream) table(t *attach.Table) (*table, slotRules) {
	known := s.tables[t.GetNumber()]
	if known == nil {
		if len(s.tables) >= mostTables || len(t.GetName()) > longestName {
			return nil, nil
		}
		known = &table{name: t.GetName()}
		s.tables[t.GetNumber()] = known
	}
	rules := known.rules
	if known.seen != s.resolved {
		known.seen = s.resolved
		if o := s.resolved.CalledAs(known.name); o != nil && o.Table != known.of {
			rules = rulesOf(o)
			known.of, known.rules, rules = o.Table, rules, unchanged(known.rules, rules)
			known.to = called(s.resolved.Ref.Mesh, o)
		}
	}
	if known.of == nil {
		return nil, nil
	}
	return known, rules
}

// called is what an outbound leads to; a host as people write it.
func called(mesh string, o *effective.Outbound) traffic.Service { return destined(mesh, o.Destination) }

func destined(mesh string, d *effective.Destination) traffic.Service {
	out := traffic.Service{Mesh: mesh, Namespace: d.Namespace, Name: d.Name, ID: d.ID}
	if d.Kind == api.KindHost {
		out.ID = naming.Address(d.Name, d.Port)
	}
	return out
}

// unchanged are the rules of slots that had the same before; all where nothing was before.
func unchanged(before, after slotRules) slotRules {
	if before == nil {
		return after
	}
	out := slotRules{}
	for slot, rule := range after {
		if before[slot].Key == rule.Key {
			out[slot] = rule
		}
	}
	return out
}

// slotRules are the rules of a table by slot.
type slotRules map[uint32]traffic.Rule

// rulesOf are those of the table of o.
func rulesOf(o *effective.Outbound) slotRules {
	return o.Cache.Counted().Do(func() any {
		out := slotRules{}
		for i, slot := range o.Table.Slots() {
			r := o.Table.Routes[i]
			known, ok := out[uint32(slot)]
			switch {
			case !ok:
				known = traffic.Rule{Key: r.Key}
				if len(r.Origins) > 0 {
					known.Origin = r.Origins[len(r.Origins)-1]
				}
			case known.Key != r.Key: // those of one rule follow each other
				known.Shared++
			}
			out[uint32(slot)] = known
		}
		return out
	}).(slotRules)
}

// split is what was counted of rules that are known, and the sum of all else.
func split(t *attach.Table, rules slotRules) (list []traffic.Counted, rest traffic.Counts) {
	for _, slot := range t.GetSlots() {
		counts := countsOf(slot)
		rule, ok := rules[slot.GetSlot()]
		if !ok {
			rest.Add(&counts)
			continue
		}
		list = append(list, traffic.Counted{Rule: rule, Counts: counts, Causes: causesOf(slot)})
	}
	if t.GetOthers() != nil {
		counts := countsOf(t.GetOthers())
		rest.Add(&counts)
	}
	return list, rest
}

func countsOf(s *attach.Slot) traffic.Counts {
	out := traffic.Counts{Completed: s.GetCompleted(), Failed: s.GetFailed(), Denied: s.GetDenied(), Retried: s.GetRetried()}
	copy(out.Durations[:], s.GetDurations())
	return out
}

// causesOf are the causes of a slot, as many as are kept.
func causesOf(s *attach.Slot) (out []traffic.CountedCause) {
	for _, c := range s.GetCauses()[:min(len(s.GetCauses()), traffic.MostCauses)] {
		if len(c.GetFlags()) > longestCause || len(c.GetDetails()) > longestCause {
			continue
		}
		out = append(out, traffic.CountedCause{RequestCause: traffic.RequestCause{Flags: c.GetFlags(), Details: c.GetDetails(), Status: c.GetStatus()}, Count: c.GetCount(), Sampled: c.GetSampled()})
	}
	return out
}

// caller is the service by which what a dataplane sends is summed.
func caller(r *effective.Resolved) traffic.Service {
	return traffic.Service{Mesh: r.Ref.Mesh, Namespace: r.Ref.Namespace, Name: r.Service()}
}
