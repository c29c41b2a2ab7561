package sim

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/faults"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// faulty is what a request meets that comes to l; none where another filter answers before.
func (t trace) faulty(l *lookup.Branch) (f faults.Faulty) {
	o, rt := l.Outbound, l.Route
	if l.Closed || l.Answer != 0 || o == nil || o.Table == nil || refuses(l.Call, rt) || preflightOf(l.Call, rt) != nil || denied(l.Call, rt) != 0 {
		return f
	}
	return faults.Of(rt.Policies, o.Destination.Protocol)
}

// branches are what becomes of a request that comes to l: one for each way in which the draws of its faults may go.
func (t trace) branches(l *lookup.Branch, q wire.Request, script []timeline.BackendResponse) (out []Branch) {
	faulty := t.faulty(l)
	list, unknown := faulty.Fates()
	for _, a := range list {
		t.fate = a
		b := t.branch(l, q, script)
		b.Probability *= a.Probability
		b.unknown = append(b.unknown, unknown...)
		out = append(out, b)
	}
	return out
}

// abortText is the body of what a fault answers.
const abortText = "fault filter abort"

// abort is what becomes of c where a fault answers: with the header changes of a route that forwards, as deny.
func (t trace) abort(spoken api.Protocol, rt *effective.Route, c *wire.NormalizedRequest) Branch {
	b := respond(c, t.fate.Status)
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
	b.Route, b.Delay, b.Faults = routeOf(rt), t.waits(rt), t.fate.Met
	b.Policies, b.Observed = RoutePolicies(t.from, rt, spoken), observed(rt.Policies)
	b.unknown = append(b.unknown, c.Doubts...)
	b.forget()
	return b
}

// waits is how long a request of rt waits before it goes on.
func (t trace) waits(rt *effective.Route) api.Duration {
	return route.DelayOf(rt.Filters) + api.Duration(t.fate.Delay)
}

// injects notes what the inbound injects into requests of the caller.
func (in *Inbound) injects() {
	faulty := faults.Of(in.holds, in.Protocol)
	in.Faults = faulty.Shares()
	if list, _ := faulty.Fates(); len(list) == 1 {
		in.fate = list[0]
	} else {
		in.fate, in.drawn = faults.Spared, true
	}
}

// aborts reports whether the sidecar of in answers every request because of a fault.
func (in *Inbound) aborts() bool {
	if in.fate.Status == 0 {
		return false
	}
	in.responds(in.fate.Status)
	in.unread.Delay = in.fate.Delay
	in.Reason = injected
	return true
}

// injected is why a sidecar that is called answers.
const injected = "a fault is injected"

// waits is a, an own answer or not, as it comes when the request has waited at in for a fault: outside the bounds of the request there, but for
// the bound of silence.
func (in *Inbound) waits(a timeline.BackendResponse, own bool) (timeline.BackendResponse, bool) {
	if in.fate.Delay == 0 || in.unread != nil {
		return a, own
	}
	if idle := timeline.TimeoutsOf(in.holds).StreamIdle; idle > 0 && in.fate.Delay >= idle {
		return in.answer(http.StatusGatewayTimeout, idle), true
	}
	a.Delay += in.fate.Delay
	if a.Complete > 0 {
		a.Complete += in.fate.Delay
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
