package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// played is the script as it goes if all attempts come to workloads that treat them alike.
type played struct {
	attempts []timeline.Attempt
	ends     []timeline.EndOfAll
	early    bool
}

// plays plays the script at each of those who may be called, and once more where somebody outside the mesh
// may be. The inbounds of called are those of the first of runs.
func (t trace) plays(l *lookup.Branch, nth func(int) timeline.BackendResponse, b *Branch) (runs []played, called []*Inbound) {
	play := func(see func(timeline.BackendResponse) timeline.BackendResponse) {
		line, err := t.playAt(l, func(n int) timeline.BackendResponse { return see(nth(n)) })
		if err != nil {
			panic(err) // it is forwarded
		}
		attempts, ends := line.Views(nth)
		runs = append(runs, played{attempts, ends, line.Early})
	}
	outside := false
	for i := range b.Backends {
		x := &b.Backends[i]
		outside = outside || x.called() && len(x.Inbounds) == 0
		for k := range x.Inbounds {
			in := &x.Inbounds[k]
			called = append(called, in)
			if first, own := in.through(nth(0)); own && in.unread == nil { // else that is said of it already
				in.ends(first)
			}
			play(func(a timeline.BackendResponse) timeline.BackendResponse { seen, _ := in.through(a); return seen })
		}
	}
	if outside {
		play(func(a timeline.BackendResponse) timeline.BackendResponse { return a })
	}
	return runs, called
}

// attempts plays the script where b forwards the request, once for all who may
// be called, or for each set of dataplanes where they come to different ends.
func (t trace) attempts(l *lookup.Branch, script []timeline.BackendResponse, b *Branch) (unknown []string) {
	if b.Outcome != Forward || l.Route == nil { // passed through, over TCP, or answered by the proxy
		return []string{timeline.NothingAttempted}
	}
	nth := func(n int) timeline.BackendResponse { return script[min(n, len(script)-1)] }
	runs, called := t.plays(l, nth, b)
	if len(runs) == 0 { // no share of the traffic has anybody to answer
		return []string{timeline.NothingAttempted}
	}
	p, err := t.playerAt(l, nth)
	if err == nil && p.Plan.Headers != nil {
		unknown = append(unknown, "answers: http.retriableResponseHeaders also repeats by headers of an answer, which are not given")
	}
	if err == nil && p.BackendsDiffer {
		unknown = append(unknown, "answers: filters of a backend change what http.retriableRequestHeaders asks for, so which backend is drawn decides whether an attempt is repeated; it is shown as repeated")
	}
	if slices.ContainsFunc(runs, func(r played) bool { return r.early }) {
		unknown = append(unknown, fmt.Sprintf("answers: an attempt that fails before Envoy has read %d bytes of the body is repeated after all, and answered 507 if they come during the pause", wire.MaxRepeated))
	}
	unknown = append(unknown, t.ejected(l.Route.Backends, l.Outbound.Destination.Protocol, runs)...)
	if len(timeline.StreamBounds(t.from, l.Route)) > 1 {
		unknown = append(unknown, "answers: http.maxStreamDuration differs between the backends; it is left out")
	}
	if !slices.ContainsFunc(runs[1:], func(r played) bool {
		return !slices.Equal(r.attempts, runs[0].attempts) || !slices.Equal(r.ends, runs[0].ends)
	}) {
		b.Attempts, b.Ends = runs[0].attempts, runs[0].ends
		return unknown
	}
	for i, in := range called {
		in.Attempts, in.Ends = runs[i].attempts, runs[i].ends
	}
	return append(unknown, "answers: which dataplane an attempt comes to is chance, and they treat it differently; each shows what happens if all attempts come to it and its like")
}

// playAt is what happens to a request that goes there if its backend answers so.
func (t trace) playAt(l *lookup.Branch, answer func(n int) timeline.BackendResponse) (timeline.Timeline, error) {
	p, err := t.playerAt(l, answer)
	if err != nil {
		return timeline.Timeline{}, err
	}
	return p.Play(), nil
}

// playerAt knows what bounds and repeats the request.
func (t trace) playerAt(l *lookup.Branch, answer func(n int) timeline.BackendResponse) (*timeline.Player, error) {
	if l.Route == nil || !forwards(l.Route) || refuses(l.Call, l.Route) || preflightOf(l.Call, l.Route) != nil || denied(l.Call, l.Route) != 0 {
		return nil, errNotForwarded
	}
	p := &timeline.Player{Answer: answer, LongBody: l.Call.Body > wire.MaxRepeated, Delay: time.Duration(t.waits(l.Route))}
	p.Plan, p.Bounds = timeline.RetriesAndTimeouts(l.Route, l.Outbound.Destination.Protocol)
	if p.Plan.Request != nil {
		var repeats bool
		if repeats, p.BackendsDiffer = repeatsAt(l, &p.Plan); !repeats {
			p.Plan.Retries = 0 // its one attempt is bounded all the same
		}
	}
	p.RepeatsUnsent = p.Plan.Connect && !effective.Outside(l.Route.Backends)
	p.Bounds.Stream = timeline.StreamBound(t.from, l.Route)
	return p, nil
}

// repeatsAt reports whether the request meets the conditions of a plan at a backend, and
// whether backends differ in that: conditions see what the filters of the rule made of the
// request, and those of the backend.
func repeatsAt(l *lookup.Branch, plan *timeline.RetryPlan) (some, differ bool) {
	rewrite := route.LastRewrite(l.Route.Filters)
	met, n := 0, 0
	for i := range l.Route.Backends {
		b := &l.Route.Backends[i]
		if b.Weight == 0 || b.Cluster == "" {
			continue
		}
		f := l.Call.Forward(l.Route, rewrite, b.Filters...)
		f.ChangeBy(b.Filters, l.Call.Filling(slices.Concat(l.Route.Filters, b.Filters)))
		if n++; plan.Request(l.Call.Method, f.Headers) {
			met++
		}
	}
	return met > 0, met > 0 && met < n
}

// errNotForwarded says that there is no attempt to speak of.
var errNotForwarded = errors.New("the request is not forwarded, so nothing is attempted")
