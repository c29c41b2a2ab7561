// Package requests knows what became of requests from the lines that the sidecar's Envoy writes to the
// agent (spec/telemetry.md 3): why those failed that Envoy ended by itself, by slot, cause and duration; the
// last ones that failed, each for itself; and all of them while somebody watches.
//
// It promises that what it keeps is bounded, and that of one request it keeps what docs/traffic.md lists:
// no query, no header but those that name the request, and of the address of a client its network.
package requests

import (
	"strconv"
	"strings"
	"sync"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"

	"github.com/weftmesh/weft/xds/bootstrap"
)

// Bounds of what is kept between two looks.
const (
	mostPlaces = 128
	mostCauses = 16  // of a place
	mostKinds  = 500 // causes of all places
	mostName   = 256
)

// NoSlot is the slot of a request of which only the virtual host is known, or not even that.
const NoSlot = -1

// SlotKey is where the counters of a request stand: a virtual host, and the slot of the route.
type SlotKey struct {
	Table string
	Slot  int
}

// LineCause is why a request was ended, as attach.Cause has it.
type LineCause struct {
	Flags, Details string
	Status         uint32
}

// Answered reports whether who was called answered.
func (c LineCause) Answered() bool { return c.Details == answered }

// Tally is what lines say of the requests of a place. Numbers are of requests: a line of a sample stands for
// many.
type Tally struct {
	// Local are requests that no counter of the place has; of them those answered with 5xx, and with 401, 403
	// or 429.
	Local, LocalFailed, LocalDenied float64
	// Failed are those with 5xx that the counters of the place have.
	Failed float64
	// Timeouts are those that the counter of timeouts has, and TimeoutBucket is the duration of the last one.
	Timeouts      float64
	TimeoutBucket int
	// Causes are all that did not end by an answer of who was called.
	Causes map[LineCause]*CauseCount
	// Durations are those of requests that Envoy's histogram leaves out, by bucket.
	Durations [Buckets]float64
	// Sampled says that some line stood for more than one request.
	Sampled bool
}

// Answered is how many of the requests with these flags were answered by who was called.
func (t *Tally) Answered(flags string) (n float64) {
	for c, of := range t.Causes {
		if c.Flags == flags && c.Answered() {
			n += of.Requests
		}
	}
	return n
}

// CauseCount is how many requests had one cause.
type CauseCount struct {
	Requests float64
	Local    bool // no counter has them
	Sampled  bool
}

// Log keeps what lines say until somebody takes it.
type Log struct {
	Sampler Sampler
	Recent  RecentRequests

	mu     sync.Mutex
	places map[SlotKey]*Tally
	kinds  int
	hosts  map[HostKey]*HostTally
}

// Take is what lines said since Take was called before.
func (l *Log) Take() map[SlotKey]*Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.places
	l.places, l.kinds = nil, 0
	return out
}

// Line takes one line of a log.
func (l *Log) Line(log string, line *accesslogv3.HTTPAccessLogEntry) {
	switch log {
	case bootstrap.TapLog:
		l.Recent.tapped(line)
		return
	case bootstrap.ErrorsLog, bootstrap.AttemptsLog:
	default:
		return
	}
	c := line.GetCommonProperties()
	took := durationOf(c)
	weight := l.Sampler.note(c.GetStartTime().AsTime().Add(took))
	if log == bootstrap.AttemptsLog {
		l.Recent.attempt(line) // the line of its request says how that ended
		l.attempt(line, weight)
		return
	}
	l.Recent.failed(line, weight)
	if line.GetResponse().GetResponseCodeDetails() == "response_timeout" { // of whose last attempt Envoy writes nothing
		l.attempt(line, weight)
	}
	place, ok := placeOf(c.GetCustomTags())
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally(place).add(causeOf(line), c.GetResponseFlags(), weight, BucketOf(took), &l.kinds)
}

// durationOf is how long a request took.
func durationOf(c *accesslogv3.AccessLogCommon) time.Duration {
	if d := c.GetDuration(); d != nil {
		return d.AsDuration()
	}
	return c.GetTimeToLastDownstreamTxByte().AsDuration()
}

func causeOf(line *accesslogv3.HTTPAccessLogEntry) LineCause {
	return LineCause{flagsOf(line.GetCommonProperties().GetResponseFlags()), vocabulary(line.GetResponse().GetResponseCodeDetails()), line.GetResponse().GetResponseCode().GetValue()}
}

// placeOf is where the counters of a request stand; not ok where no virtual host took it.
func placeOf(tags map[string]string) (p SlotKey, ok bool) {
	p = SlotKey{Table: tags[bootstrap.TableTag], Slot: NoSlot}
	if p.Table == "" || p.Table == "-" || len(p.Table) > mostName {
		return p, false
	}
	if number, is := strings.CutPrefix(tags[bootstrap.SlotTag], "s"); is {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			p.Slot = int(n)
		}
	}
	return p, true
}

// tally is that of a place; where there are too many, that of the others of its table, or of none.
func (l *Log) tally(p SlotKey) *Tally {
	for _, at := range []SlotKey{p, {p.Table, NoSlot}, {"", NoSlot}} {
		if t := l.places[at]; t != nil {
			return t
		}
		if len(l.places) < mostPlaces || at.Table == "" {
			if l.places == nil {
				l.places = map[SlotKey]*Tally{}
			}
			t := &Tally{Causes: map[LineCause]*CauseCount{}, TimeoutBucket: Buckets - 1}
			l.places[at] = t
			return t
		}
	}
	panic("unreachable: the last place is always there")
}

func (t *Tally) add(c LineCause, flags *accesslogv3.ResponseFlags, weight float64, bucket int, kinds *int) {
	t.Sampled = t.Sampled || weight > 1
	local := uncounted(c, flags)
	switch {
	case local:
		t.Local += weight
		switch {
		case c.Status >= 500:
			t.LocalFailed += weight
		case c.Status == 401 || c.Status == 403 || c.Status == 429:
			t.LocalDenied += weight
		}
	case c.Status >= 500:
		t.Failed += weight
	}
	if c.Details != answered {
		t.Durations[bucket] += weight // an answer of who was called is in the histogram
	}
	if !local && flags.GetUpstreamRequestTimeout() && c.Details == "response_timeout" {
		t.Timeouts += weight
		t.TimeoutBucket = bucket
	}
	if c.Details == answered && c.Flags == "" {
		return // that is an answer of who was called
	}
	n := t.Causes[c]
	if n == nil {
		if len(t.Causes) >= mostCauses || *kinds >= mostKinds {
			c = LineCause{Details: "others"}
		}
		if n = t.Causes[c]; n == nil {
			n = &CauseCount{Local: local}
			t.Causes[c] = n
			*kinds++
		}
	}
	n.Requests += weight
	n.Sampled = n.Sampled || weight > 1
}

// Buckets are those of attach.Slot.durations.
const Buckets = 8

var bounds = [Buckets - 1]int64{5, 10, 25, 50, 100, 250, 1000}

// BucketOf is the bucket of a duration.
func BucketOf(d time.Duration) int { return BucketOfMilliseconds(d.Milliseconds()) }

// BucketOfMilliseconds is the same of whole milliseconds, as Envoy counts them.
func BucketOfMilliseconds(ms int64) int {
	for i, bound := range bounds {
		if ms <= bound {
			return i
		}
	}
	return Buckets - 1
}
