package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/sim/wire"
)

// ParseAnswers reads what workloads do at each attempt, by comma; the last one
// holds for all attempts that follow. One of
//
//	STATUS      it answers, as 503; 200 stands for the status where only a time is written
//	grpc:CODE   it answers as a gRPC server, with that status of gRPC
//	reset       it ends the stream without an answer
//	refused     there is no connection
//
// followed by @TIME, as 503@2s: how long it takes to begin. Of 200ms@5s, and of
// 200@200ms@5s, the answer begins after 200ms and is complete after 5s.
// It is nil for an empty text.
func ParseAnswers(text string) ([]Answer, error) {
	list, wrong := readAnswers(text)
	return list, together(wrong)
}

// readAnswers reads them, and says what is wrong with each.
func readAnswers(text string) (list []Answer, wrong []error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		if len(wrong) == wire.MaxMistakes {
			break
		}
		a, err := parseAnswer(strings.TrimSpace(one))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("answers: %q %w", redact.Clip(one), err))
		}
		list = append(list, a)
	}
	return list, wrong
}

func parseAnswer(text string) (Answer, error) {
	a := Answer{text: text}
	what, times, _ := strings.Cut(text, "@")
	if _, err := time.ParseDuration(what); err == nil && strings.Trim(what, "0123456789") != "" {
		what, times = "200", text
	}
	code, isGRPC := strings.CutPrefix(what, "grpc:")
	switch n, err := strconv.ParseUint(code, 10, 32); {
	case what == "reset":
		a.Reset = true
	case what == "refused":
		a.Refuse = true
	case isGRPC && err == nil && n <= 16:
		status := uint32(n)
		a.Status, a.GRPCStatus = 200, &status
	case isGRPC:
		return a, fmt.Errorf("has no status of gRPC; write a number from 0 to 16, as grpc:14")
	case err != nil || n < 200 || n > 599:
		return a, fmt.Errorf("is not a valid answer; write a status from 200 to 599, a time, grpc:CODE, reset or refused, and @TIME after it if it takes time, as 503,reset,200@2s")
	default:
		a.Status = uint32(n)
	}
	return a, a.readTimes(times)
}

// readTimes reads FIRST, or FIRST@LAST.
func (a *Answer) readTimes(text string) error {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "@")
	var times [2]time.Duration
	for i, part := range parts {
		d, err := time.ParseDuration(part)
		if err != nil || d < 0 || i > 1 || i == 1 && (a.Status == 0 || d < times[0]) {
			return fmt.Errorf("has a time that cannot be; write @FIRST or @FIRST@LAST with FIRST before LAST, as 200@200ms@5s")
		}
		times[i] = d
	}
	if a.Refuse {
		return fmt.Errorf("takes time to refuse; write refused alone")
	}
	a.Delay, a.Complete = times[0], times[1]
	return nil
}

// NothingAttempted is what a verdict says where Answers have nothing to act on.
const NothingAttempted = "answers: nothing is attempted, for no request is forwarded to a workload over HTTP"

// played is the script as it goes if all attempts come to workloads that treat them alike.
type played struct {
	attempts []Attempt
	ends     []EndOfAll
	early    bool
}

// plays plays the script at each of those who may be called, and once more where somebody outside the mesh
// may be. The inbounds of called are those of the first of runs.
func (t trace) plays(l *lookup, nth func(int) Answer, b *Branch) (runs []played, called []*Inbound) {
	play := func(see func(Answer) Answer) {
		line, err := l.play(t.from, func(n int) Answer { return see(nth(n)) })
		if err != nil {
			panic(err) // it is forwarded
		}
		attempts, ends := line.views(nth)
		runs = append(runs, played{attempts, ends, line.early})
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
			play(func(a Answer) Answer { seen, _ := in.through(a); return seen })
		}
	}
	if outside {
		play(func(a Answer) Answer { return a })
	}
	return runs, called
}

// attempts plays the script where b forwards the request, once for all who may
// be called, or for each set of dataplanes where they come to different ends.
func (t trace) attempts(l *lookup, script []Answer, b *Branch) (unknown []string) {
	if b.Outcome != Forward || l.route == nil { // passed through, over TCP, or answered by the proxy
		return []string{NothingAttempted}
	}
	nth := func(n int) Answer { return script[min(n, len(script)-1)] }
	runs, called := t.plays(l, nth, b)
	if len(runs) == 0 { // no share of the traffic has anybody to answer
		return []string{NothingAttempted}
	}
	p, err := l.player(t.from, nth)
	if err == nil && p.plan.Headers != nil {
		unknown = append(unknown, "answers: http.retriableResponseHeaders also repeats by headers of an answer, which are not given")
	}
	if err == nil && p.differ {
		unknown = append(unknown, "answers: filters of a backend change what http.retriableRequestHeaders asks for, so which backend is drawn decides whether an attempt is repeated; it is shown as repeated")
	}
	if slices.ContainsFunc(runs, func(r played) bool { return r.early }) {
		unknown = append(unknown, fmt.Sprintf("answers: an attempt that fails before Envoy has read %d bytes of the body is repeated after all, and answered 507 if they come during the pause", wire.MaxRepeated))
	}
	if len(streamBounds(t.from, l.route)) > 1 {
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

// views are a timeline as a verdict has it.
func (l Timeline) views(nth func(int) Answer) (attempts []Attempt, ends []EndOfAll) {
	for i, t := range l.Tries {
		attempts = append(attempts, Attempt{
			Attempt: i + 1, Earliest: api.Duration(t.Earliest), Latest: api.Duration(t.Latest), Wait: api.Duration(t.Wait),
			Answer: nth(i).text, Ended: t.Ended, Status: t.Status,
		})
	}
	for _, e := range l.Ends {
		ends = append(ends, EndOfAll{By: e.By, Status: e.Status, Attempts: e.Attempts, Earliest: api.Duration(e.Earliest), Latest: api.Duration(e.Latest)})
	}
	return attempts, ends
}
