package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// Answer is what a backend does to one attempt.
type Answer struct {
	Status     uint32
	GRPCStatus *uint32
	Headers    wire.Headers
	Delay      time.Duration // until it begins to answer, or resets
	Complete   time.Duration // until the answer is complete; zero: as soon as it begins
	Reset      bool          // the stream ends without an answer
	Refuse     bool          // there is no connection

	text string // as ParseAnswers read it
	cut  bool   // it ends by a reset instead of being complete
	// unsent is of what a sidecar answers that could not send the request to its workload.
	unsent bool
}

// Ended is what ends an attempt or a request.
type Ended string

// The ways to end. The last four are bounds of time that fire.
const (
	ByAnswer            Ended = "answer"
	ByReset             Ended = "reset"
	ByRefusal           Ended = "refused"
	ByPerTryTimeout     Ended = "perTryTimeout"
	ByRequestTimeout    Ended = "requestTimeout"
	ByStreamIdleTimeout Ended = "streamIdleTimeout"
	ByMaxStreamDuration Ended = "maxStreamDuration"
)

// Try is one attempt. Back-offs are drawn by chance, so its start has bounds,
// counted from the request's.
type Try struct {
	Earliest, Latest time.Duration
	Wait             time.Duration // the longest back-off before it
	Ended            Ended
	Status           uint32
}

// End is how the request may end, after how many attempts, and when.
type End struct {
	By               Ended
	Status           uint32
	Attempts         int
	Earliest, Latest time.Duration
}

// Timeline is what happens to a request in time. There is more than one End
// only where a back-off may or may not outlast a bound of time.
type Timeline struct {
	Tries []Try
	Ends  []End

	early bool // an attempt ended before Envoy had more of the body than it repeats, perhaps
}

// Play says what happens to a forwarded request if its backend does to the n-th
// attempt (from 0) what answer says.
func Play(w Reader, from api.Ref, q wire.Request, answer func(n int) Answer) (Timeline, error) {
	r, ok := w.Dataplane(from)
	if !ok {
		return Timeline{}, fmt.Errorf("%s: there is no such dataplane", from)
	}
	f, err := lookUp(w, r, q)
	if err != nil {
		return Timeline{}, err
	}
	if len(f.ends) > 1 {
		return Timeline{}, fmt.Errorf("draw: chance decides which route takes the request; say by which draw")
	}
	return f.ends[0].play(r, answer)
}

// play is Play once it is known where the request goes.
func (l *lookup) play(r *effective.Resolved, answer func(n int) Answer) (Timeline, error) {
	p, err := l.player(r, answer)
	if err != nil {
		return Timeline{}, err
	}
	return p.play(), nil
}

// player knows what bounds and repeats the request.
func (l *lookup) player(r *effective.Resolved, answer func(n int) Answer) (*player, error) {
	if l.route == nil || !forwards(l.route) || refuses(l.call, l.route) || preflightOf(l.call, l.route) != nil || denied(l.call, l.route) != 0 {
		return nil, errNotForwarded
	}
	p := &player{answer: answer, long: l.call.Body > wire.MaxRepeated, delay: time.Duration(route.DelayOf(l.route.Filters))}
	p.plan, p.bounds = behaviour(l.route, l.outbound.Destination.Protocol)
	if p.plan.Request != nil {
		var repeats bool
		if repeats, p.differ = l.repeats(&p.plan); !repeats {
			p.plan.Retries = 0 // its one attempt is bounded all the same
		}
	}
	p.heeds = p.plan.Connect && !effective.Outside(l.route.Backends)
	p.bounds.Stream = streamBound(r, l.route)
	return p, nil
}

// repeats reports whether the request meets the conditions of a plan at a backend, and
// whether backends differ in that: conditions see what the filters of the rule made of the
// request, and those of the backend.
func (l *lookup) repeats(plan *RetryPlan) (some, differ bool) {
	rewrite := route.LastRewrite(l.route.Filters)
	met, n := 0, 0
	for i := range l.route.Backends {
		b := &l.route.Backends[i]
		if b.Weight == 0 || b.Cluster == "" {
			continue
		}
		f := l.call.Forward(l.route, rewrite, b.Filters...)
		f.ChangeBy(b.Filters, l.call.Filling(slices.Concat(l.route.Filters, b.Filters)))
		if n++; plan.Request(l.call.Method, f.Headers) {
			met++
		}
	}
	return met > 0, met > 0 && met < n
}

// errNotForwarded says that there is no attempt to speak of.
var errNotForwarded = errors.New("the request is not forwarded, so nothing is attempted")

// player plays one request.
type player struct {
	plan   RetryPlan
	bounds Timeouts
	delay  time.Duration // before the first attempt
	answer func(int) Answer
	long   bool // the body is not repeated
	differ bool // whether the request is repeated depends on the backend
	heeds  bool // what a sidecar could not send to its workload (route.UnsentHeader) is repeated
	line   Timeline
}

func (p *player) play() Timeline {
	limit, by := p.deadline()
	earliest, latest, wait := p.delay, p.delay, time.Duration(0)
	if p.delay >= limit {
		return p.ended(End{By: by, Status: 504, Earliest: limit, Latest: limit})
	}
	for n := 0; ; n++ {
		took, end, retry := p.attempt(n)
		done := End{Attempts: n + 1, Earliest: earliest + took, Latest: latest + took, By: end.Ended, Status: end.Status}
		try := Try{Earliest: earliest, Latest: latest, Wait: wait, Ended: end.Ended, Status: end.Status}
		if done.Earliest >= limit {
			try.Ended, try.Status = by, 504
			p.line.Tries = append(p.line.Tries, try)
			return p.ended(End{By: by, Status: 504, Attempts: n + 1, Earliest: limit, Latest: limit})
		}
		p.line.Tries = append(p.line.Tries, try)
		if done.Latest >= limit {
			p.ended(End{By: by, Status: 504, Attempts: n + 1, Earliest: limit, Latest: limit})
			done.Latest = limit
		}
		retry = retry && uint32(n) < p.plan.Retries
		p.line.early = retry && p.long
		if !retry || p.long {
			if end.Ended == ByAnswer {
				return p.rest(done, p.answer(n))
			}
			return p.ended(done)
		}
		wait = p.backOff(n)
		earliest, latest = done.Earliest, done.Latest+wait
		if latest >= limit {
			p.ended(End{By: by, Status: 504, Attempts: n + 1, Earliest: limit, Latest: limit})
			latest = limit
		}
	}
}

// rest is what becomes of an answer that has begun, as done says: its status is
// sent, so that a bound of time can only break it off.
func (p *player) rest(done End, a Answer) Timeline {
	left := max(a.Complete-a.Delay, 0)
	if a.cut {
		done.By = ByReset
	}
	if d := p.bounds.Stream; d > 0 && a.Complete >= d {
		left, done.By = d-a.Delay, ByMaxStreamDuration
	}
	if d := p.bounds.StreamIdle; d > 0 && left >= d { // silence since it began
		left, done.By = d, ByStreamIdleTimeout
	}
	done.Earliest, done.Latest = done.Earliest+left, done.Latest+left
	if d := p.requestBound(); d > 0 && left > 0 && done.Latest >= d {
		cut := End{By: ByRequestTimeout, Status: done.Status, Attempts: done.Attempts, Earliest: d, Latest: d}
		if done.Earliest >= d {
			return p.ended(cut)
		}
		p.ended(cut)
		done.Latest = d
	}
	return p.ended(done)
}

// ended notes one way to end, each once.
func (p *player) ended(e End) Timeline {
	if !slices.Contains(p.line.Ends, e) {
		p.line.Ends = append(p.line.Ends, e)
	}
	return p.line
}

// backOff is the longest pause after attempt n.
func (p *player) backOff(n int) time.Duration {
	pause := p.plan.Base
	for range n {
		if pause >= p.plan.Max {
			break
		}
		pause *= 2
	}
	return min(pause, p.plan.Max)
}

// attempt is how attempt n ends by itself, and whether that is repeated.
func (p *player) attempt(n int) (took time.Duration, end Try, retry bool) {
	a := p.answer(n)
	bound, by := p.plan.PerTry, ByPerTryTimeout
	if d := p.bounds.Stream; d > 0 && (bound <= 0 || d < bound) {
		bound, by = d, ByMaxStreamDuration
	}
	switch {
	case a.Refuse:
		return 0, Try{Ended: ByRefusal, Status: 503}, p.plan.Connect
	case bound > 0 && a.Delay >= bound:
		return bound, Try{Ended: by, Status: 504}, p.plan.Reset
	case a.Reset:
		return a.Delay, Try{Ended: ByReset, Status: 503}, p.plan.Reset
	}
	retry = p.plan.Retries > 0 && (p.plan.Status(a.Status) || p.plan.Headers != nil && p.plan.Headers(a.Headers) || a.unsent && p.heeds ||
		a.GRPCStatus != nil && p.plan.GRPCStatus(*a.GRPCStatus))
	return a.Delay, Try{Ended: ByAnswer, Status: a.Status}, retry
}
