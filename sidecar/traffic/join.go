package traffic

import (
	"math"

	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// mostCauses bounds those of a slot that wait to be told.
const mostCauses = 16

// join adds to what is due what lines say: requests that no counter has, causes, and the durations of
// requests that the histogram leaves out, which are those that failed most (spec/telemetry.md F5, F5a).
func (m *Meter) join(tallies map[requests.SlotKey]*requests.Tally) {
	for at, t := range tallies {
		m.slot(m.placed(at)).join(t)
	}
	if m.from.Log.Sampler.PPM() == bootstrap.AllErrors {
		return
	}
	for at, s := range m.slots {
		if tallies[at] == nil && s.fresh[timeouts] > 0 { // none of them is in the sample
			s.due.times[s.timeoutBucket()] += s.fresh[timeouts]
		}
	}
}

// timeoutBucket is where requests belong that timed out without a line: with the last one that had a line.
func (s *slot) timeoutBucket() int {
	if s.timeout == 0 {
		return requests.Buckets - 1
	}
	return int(s.timeout) - 1
}

// placed is a place with the name of its table that is in memory already.
func (m *Meter) placed(at requests.SlotKey) requests.SlotKey {
	return requests.SlotKey{Table: m.name([]byte(at.Table)), Slot: at.Slot}
}

func (s *slot) join(t *requests.Tally) {
	if t.Timeouts > 0 {
		s.timeout = uint8(t.TimeoutBucket) + 1
	}
	beyond := 0.0
	if t.Sampled { // timeouts that have no line, and those for which lines stand that were too many
		beyond = float64(s.fresh[timeouts]) - t.Timeouts
	}
	s.due.counts[completed] += rounded(t.Local)
	s.due.counts[failed] += rounded(t.LocalFailed)
	s.due.counts[denied] += rounded(t.LocalDenied)
	for i, n := range t.Durations {
		if i == s.timeoutBucket() {
			n += beyond
		}
		s.due.times[i] += rounded(n)
	}
	for c, n := range t.Causes {
		requests := n.Requests
		if !n.Local {
			requests *= s.scale(t, c)
		}
		s.because(c, requests, n.Sampled)
	}
}

// retryEnds are the counters of requests that were answered by who was called after no more attempts were
// allowed, by the flag that their lines have.
var retryEnds = map[string]counter{"UO": overflows, "URX": exhausted}

// scale is by what the requests of a cause differ in a sample from those of a counter that has them too: what
// counters say is exact.
func (s *slot) scale(t *requests.Tally, c requests.LineCause) float64 {
	counted, sampled := s.fresh[failed], t.Failed
	if at, ok := retryEnds[c.Flags]; ok && c.Answered() {
		counted, sampled = s.fresh[at], t.Answered(c.Flags)
	}
	if !t.Sampled || sampled == 0 || counted == 0 {
		return 1
	}
	return float64(counted) / sampled
}

func (s *slot) because(c requests.LineCause, n float64, sampled bool) {
	known := s.causes[c]
	if known == nil {
		if len(s.causes) >= mostCauses {
			c = requests.LineCause{Details: "others"}
		}
		if s.causes == nil {
			s.causes = map[requests.LineCause]*cause{}
		}
		if known = s.causes[c]; known == nil {
			known = &cause{}
			s.causes[c] = known
		}
	}
	known.count += n
	known.sampled = known.sampled || sampled
}

func rounded(n float64) uint32 { return uint32(max(0, min(math.Round(n), math.MaxUint32))) }
