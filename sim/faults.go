package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Injector is a conf by which requests meet faults on purpose.
type Injector interface {
	// Faults act one after the other.
	Faults() []Fault
	// FaultsField is the path of the field whose author says so.
	FaultsField() string
}

// Fault is what happens to shares of requests, from 0 to 1. Each share is drawn by itself, and not by the draw that
// decides about backends: first who waits, then who is aborted (spec/kinds.md F8).
type Fault struct {
	Index int // in its list

	Delay   time.Duration
	Delayed float64

	Status  uint32
	Aborted float64

	Bandwidth string // in words
	Slowed    float64
}

// Faulty is what a route, or an inbound, injects, and who says so.
type Faulty struct {
	*policies.Effective
	Field  string
	Faults []Fault
}

// FaultsOf are the faults that policies inject where a protocol is spoken; none of nobody.
func FaultsOf(ps effective.Policies, spoken api.Protocol) (f Faulty) {
	for _, e := range ps {
		if x, ok := e.Conf.(Injector); ok && spoken.HTTPLike() && len(x.Faults()) > 0 {
			f = Faulty{e, x.FaultsField(), x.Faults()}
		}
	}
	return f
}

// by names a fault and who says it.
func (f *Faulty) by(j int) string {
	return fmt.Sprintf("by %s[%d]%s", f.Field, j, said(f.Effective, f.Field))
}

// shares are the faults in words, each with how many requests meet it.
func (f *Faulty) shares() (out []string) {
	for i := range f.Faults {
		x := &f.Faults[i]
		for _, part := range []struct {
			share float64
			what  string
		}{{x.Delayed, "wait " + api.Duration(x.Delay).String()}, {x.Aborted, fmt.Sprintf("are aborted with %d", x.Status)}, {x.Slowed, "get their answer at " + x.Bandwidth}} {
			if part.share > 0 {
				out = append(out, fmt.Sprintf("%.4g%% %s %s", part.share*100, part.what, f.by(x.Index)))
			}
		}
	}
	return out
}

// fate is one way in which the draws of faults may go.
type fate struct {
	probability float64
	delay       time.Duration
	status      uint32 // of the answer in the place of all else; 0 where the request goes on
	faults      []string
}

// mostFates is how many of them are told apart: of faults behind that many the delays are not.
const mostFates = 64

// spared meets no fault.
var spared = fate{probability: 1}

// fates are all ways in which the draws of f may go, those that end first in front.
func (f *Faulty) fates() (out []fate, unknown []string) {
	going := []fate{spared}
	for i := range f.Faults {
		x := &f.Faults[i]
		if x.Delayed > 0 && x.Delayed < 1 && 2*len(going)+len(out) > mostFates {
			unknown = append(unknown, fmt.Sprintf("faults: there are too many ways in which they may go; that some wait %s %s is left out", api.Duration(x.Delay), f.by(x.Index)))
		} else if x.Delayed > 0 {
			going = split(going, x.Delayed, func(a *fate) {
				a.delay += x.Delay
				a.faults = with(a.faults, "is delayed "+api.Duration(x.Delay).String()+" "+f.by(x.Index))
			})
		}
		if x.Aborted > 0 {
			var on []fate
			for _, a := range split(going, x.Aborted, func(a *fate) {
				a.status = x.Status
				a.faults = with(a.faults, "is aborted "+f.by(x.Index))
			}) {
				if a.status != 0 {
					out = append(out, a)
				} else {
					on = append(on, a)
				}
			}
			going = on
		}
	}
	for _, a := range going {
		for i := range f.Faults {
			if x := &f.Faults[i]; x.Slowed > 0 {
				a.faults = with(a.faults, fmt.Sprintf("the answer comes at %s, of %.4g%% %s", x.Bandwidth, x.Slowed*100, f.by(x.Index)))
			}
		}
		out = append(out, a)
	}
	return out, unknown
}

// split are fates of whom a share meets what change says, without those that never are.
func split(list []fate, share float64, change func(*fate)) (out []fate) {
	for _, a := range list {
		met := a
		met.probability *= share
		change(&met)
		a.probability *= 1 - share
		for _, x := range []fate{met, a} {
			if x.probability > 0 {
				out = append(out, x)
			}
		}
	}
	return out
}

func with(list []string, text string) []string { return append(slices.Clone(list), text) }

// faulty is what a request meets that comes to l; none where another filter answers before.
func (t trace) faulty(l *lookup.Branch) (f Faulty) {
	o, rt := l.Outbound, l.Route
	if l.Closed || l.Answer != 0 || o == nil || o.Table == nil || refuses(l.Call, rt) || preflightOf(l.Call, rt) != nil || denied(l.Call, rt) != 0 {
		return f
	}
	return FaultsOf(rt.Policies, o.Destination.Protocol)
}

// branches are what becomes of a request that comes to l: one for each way in which the draws of its faults may go.
func (t trace) branches(l *lookup.Branch, q wire.Request, script []timeline.BackendResponse) (out []Branch) {
	faulty := t.faulty(l)
	list, unknown := faulty.fates()
	for _, a := range list {
		t.fate = a
		b := t.branch(l, q, script)
		b.Probability *= a.probability
		b.unknown = append(b.unknown, unknown...)
		out = append(out, b)
	}
	return out
}

// abortText is the body of what a fault answers.
const abortText = "fault filter abort"

// abort is what becomes of c where a fault answers: with the header changes of a route that forwards, as deny.
func (t trace) abort(spoken api.Protocol, rt *effective.Route, c *wire.NormalizedRequest) Branch {
	b := respond(c, t.fate.status)
	b.Body = abortText
	b.Backends = shares(t.from, rt.Backends, t.draws)
	for i := range b.Backends {
		b.Backends[i].Status, b.Backends[i].Reason = b.Status, injected
	}
	if forwards(rt) {
		answered(rt, &b, c)
		for i := range b.Backends {
			b.answers(b.Backends[i].ResponseHeaders)
		}
		if b.ResponseHeaders == nil {
			b.ResponseHeaders = wire.ResponseChanges(rt.Changes(), c.Filling(nil))
		}
		b.answers(b.ResponseHeaders)
	}
	b.asks(rt, c)
	b.changeForCORS(rt, c)
	b.Route, b.Delay, b.Faults = routeOf(rt), t.waits(rt), t.fate.faults
	b.Policies, b.Observed = RoutePolicies(t.from, rt, spoken), observed(rt.Policies)
	b.unknown = append(b.unknown, c.Doubts...)
	b.forget()
	return b
}

// waits is how long a request of rt waits before it goes on.
func (t trace) waits(rt *effective.Route) api.Duration {
	return route.DelayOf(rt.Filters) + api.Duration(t.fate.delay)
}

// injects notes what the inbound injects into requests of the caller.
func (in *Inbound) injects() {
	faulty := FaultsOf(in.holds, in.Protocol)
	in.Faults = faulty.shares()
	if list, _ := faulty.fates(); len(list) == 1 {
		in.fate = list[0]
	} else {
		in.fate, in.drawn = spared, true
	}
}

// aborts reports whether the sidecar of in answers every request because of a fault.
func (in *Inbound) aborts() bool {
	if in.fate.status == 0 {
		return false
	}
	in.responds(in.fate.status)
	in.unread.Delay = in.fate.delay
	in.Reason = injected
	return true
}

// injected is why a sidecar that is called answers.
const injected = "a fault is injected"

// waits is a, an own answer or not, as it comes when the request has waited at in for a fault: outside the bounds of the request there, but for
// the bound of silence.
func (in *Inbound) waits(a timeline.BackendResponse, own bool) (timeline.BackendResponse, bool) {
	if in.fate.delay == 0 || in.unread != nil {
		return a, own
	}
	if idle := timeline.TimeoutsOf(in.holds).StreamIdle; idle > 0 && in.fate.delay >= idle {
		return in.answer(http.StatusGatewayTimeout, idle), true
	}
	a.Delay += in.fate.delay
	if a.Complete > 0 {
		a.Complete += in.fate.delay
	}
	return a, own
}

// doubtFaults says what chance decides at those who are called, anew for each attempt.
func (b *Branch) doubtFaults() {
	for i := range b.Backends {
		x := &b.Backends[i]
		for k := range x.Inbounds {
			if in := &x.Inbounds[k]; in.drawn {
				b.unknown = append(b.unknown, fmt.Sprintf("faults: at %s each attempt is drawn anew, of which %s; shown is one that meets none", x.Name, strings.Join(in.Faults, ", ")))
			}
		}
	}
}
