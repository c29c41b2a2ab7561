package timeline

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim/wire"
)

// BackendResponse is what a backend does to one attempt.
type BackendResponse struct {
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

	Early bool // an attempt ended before Envoy had more of the body than it repeats, perhaps
}

// Player plays one request.
type Player struct {
	Plan           RetryPlan
	Bounds         Timeouts
	Delay          time.Duration // before the first attempt
	Answer         func(int) BackendResponse
	LongBody       bool // the body is not repeated
	BackendsDiffer bool // whether the request is repeated depends on the backend
	RepeatsUnsent  bool // what a sidecar could not send to its workload (route.UnsentHeader) is repeated
	line           Timeline
}

// Play plays the request to its ends.
func (p *Player) Play() Timeline {
	limit, by := p.deadline()
	earliest, latest, wait := p.Delay, p.Delay, time.Duration(0)
	if p.Delay >= limit {
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
		retry = retry && uint32(n) < p.Plan.Retries
		p.line.Early = retry && p.LongBody
		if !retry || p.LongBody {
			if end.Ended == ByAnswer {
				return p.rest(done, p.Answer(n))
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
func (p *Player) rest(done End, a BackendResponse) Timeline {
	left := max(a.Complete-a.Delay, 0)
	if a.cut {
		done.By = ByReset
	}
	if d := p.Bounds.Stream; d > 0 && a.Complete >= d {
		left, done.By = d-a.Delay, ByMaxStreamDuration
	}
	if d := p.Bounds.StreamIdle; d > 0 && left >= d { // silence since it began
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
func (p *Player) ended(e End) Timeline {
	if !slices.Contains(p.line.Ends, e) {
		p.line.Ends = append(p.line.Ends, e)
	}
	return p.line
}

// backOff is the longest pause after attempt n.
func (p *Player) backOff(n int) time.Duration {
	pause := p.Plan.Base
	for range n {
		if pause >= p.Plan.Max {
			break
		}
		pause *= 2
	}
	return min(pause, p.Plan.Max)
}

// attempt is how attempt n ends by itself, and whether that is repeated.
func (p *Player) attempt(n int) (took time.Duration, end Try, retry bool) {
	a := p.Answer(n)
	bound, by := p.Plan.PerTry, ByPerTryTimeout
	if d := p.Bounds.Stream; d > 0 && (bound <= 0 || d < bound) {
		bound, by = d, ByMaxStreamDuration
	}
	switch {
	case a.Refuse:
		return 0, Try{Ended: ByRefusal, Status: 503}, p.Plan.Connect
	case bound > 0 && a.Delay >= bound:
		return bound, Try{Ended: by, Status: 504}, p.Plan.Reset
	case a.Reset:
		return a.Delay, Try{Ended: ByReset, Status: 503}, p.Plan.Reset
	}
	retry = p.Plan.Retries > 0 && (p.Plan.Status(a.Status) || p.Plan.Headers != nil && p.Plan.Headers(a.Headers) || a.unsent && p.RepeatsUnsent ||
		a.GRPCStatus != nil && p.Plan.GRPCStatus(*a.GRPCStatus))
	return a.Delay, Try{Ended: ByAnswer, Status: a.Status}, retry
}

// Attempt is one attempt of a request. Back-offs are drawn by chance, so its
// start has bounds, counted from the request's.
type Attempt struct {
	Attempt  int          `json:"attempt"` // from 1
	Earliest api.Duration `json:"earliest"`
	Latest   api.Duration `json:"latest"`
	// Wait is the longest back-off before it; shorter ones are as likely.
	Wait   api.Duration `json:"wait,omitzero"`
	Answer string       `json:"answer"` // of the backend, as Answers has it
	Ended  Ended        `json:"ended"`
	Status uint32       `json:"status"`
}

// EndOfAll is one way in which the request may end.
type EndOfAll struct {
	By       Ended        `json:"by"`
	Status   uint32       `json:"status"`
	Attempts int          `json:"attempts"`
	Earliest api.Duration `json:"earliest"`
	Latest   api.Duration `json:"latest"`
}

// never is later than any bound.
const never = time.Duration(1<<63 - 1)

// requestBound is the bound on the request, which counts from when it goes on; zero is none.
func (p *Player) requestBound() time.Duration {
	if p.Bounds.Request <= 0 {
		return 0
	}
	return p.Delay + p.Bounds.Request
}

// deadline is the bound on the request as a whole that fires first. Neither an
// attempt nor a back-off moves it.
func (p *Player) deadline() (time.Duration, Ended) {
	request, idle := p.requestBound(), p.Bounds.StreamIdle
	switch {
	case request > 0 && (idle <= 0 || request <= idle):
		return request, ByRequestTimeout
	case idle > 0:
		return idle, ByStreamIdleTimeout
	}
	return never, ""
}

// CutBy breaks an answer off that has begun and takes too long.
func (a BackendResponse) CutBy(t Timeouts) BackendResponse {
	for _, limit := range []time.Duration{t.Request, t.Stream, a.Delay + t.StreamIdle} {
		if limit > a.Delay && a.Complete >= limit {
			a.Complete, a.cut = limit, true
		}
	}
	return a
}

// RetryBudget is what a verdict with repeats does not know: what else is under way.
const RetryBudget = "answers: a request is not repeated while 3 others to the same cluster are being repeated"

// UnknownRetries says what else decides about the attempts of a request.
func UnknownRetries(list []Attempt) []string {
	if len(list) < 2 {
		return nil
	}
	return []string{RetryBudget}
}

// Limit is the bound of an attempt that fires first; it is later than any where there is none.
func (t Timeouts) Limit() time.Duration {
	limit, _ := (&Player{Bounds: t}).deadline()
	if t.Stream > 0 {
		limit = min(limit, t.Stream)
	}
	return limit
}

// NotSent is a, of a sidecar that could not send the request to its workload.
func (a BackendResponse) NotSent() BackendResponse {
	a.unsent = true
	return a
}

// CutOff is a, which a reset ends before it is complete.
func (a BackendResponse) CutOff() BackendResponse {
	a.cut = true
	return a
}
