package differential

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
)

const (
	requestsPerWorld = 20
	worldsPerFleet   = 125
	askers           = 16 // at one time
)

// slowest is the longest that a pair may take; what takes more than quick may have
// met a bound of time, the least of which is longer.
const slowest, quick = 5 * time.Second, 500 * time.Millisecond

// theme is what worlds and their requests are drawn about.
type theme struct {
	source func(draw) Source
	pair   func(draw, *World) Pair
	each   int // requests of one world
}

// The themes: documents as people write them, and tables of routes.
var (
	byDocuments = theme{func(d draw) Source { return Source{Documents: d.aimed(d.documents())} }, draw.pair, requestsPerWorld}
	byTables    = theme{func(d draw) Source { return d.tableSource(d.chance(3)) }, draw.tablePair, requestsPerWorld}
)

// drawPairs makes worlds and requests; equal seeds give equal ones.
func drawPairs(t testing.TB, about theme, seed uint64, from, n int) (worlds []Source, pairs []Pair) {
	t.Helper()
	for i := range n {
		d := newDraw(seed, uint64(from+i))
		w, err := compile(about.source(d))
		if err != nil {
			t.Fatalf("seed %d, world %d: %v", seed, from+i, err)
		}
		worlds = append(worlds, w.Source)
		for range about.each {
			pairs = append(pairs, about.pair(d, w))
		}
	}
	return worlds, pairs
}

// asked counts requests, over all fleets of the process.
var asked atomic.Uint64

// compare sends the pairs of each world, as many in one as in the other, and
// returns what each disagreement says. In one world nothing happens at one time:
// what a sidecar does to a request may depend on others that are under way.
func compare(t testing.TB, r *room, worlds []Source, pairs []Pair, g *Grid) []string {
	t.Helper()
	f := newFleet(t, r, worlds)
	defer f.stop()
	each := len(pairs) / len(worlds)
	said := make([]string, len(pairs))
	next := make(chan int)
	var group sync.WaitGroup
	for range askers {
		group.Go(func() {
			for n := range next {
				for i := n * each; i < (n+1)*each; i++ {
					said[i] = f.holdLine(n, i, pairs[i], g)
				}
			}
		})
	}
	for n := range worlds {
		next <- n
	}
	close(next)
	group.Wait()
	linesChecked.Add(uint64(f.lines.check(said)))
	return said
}

// linesChecked counts requests whose lines were looked at, over all fleets of the process.
var linesChecked atomic.Uint64

// hold says how verdict and reality differ about p; it is empty where they do not.
// On a busy machine a bound of time may end what is quick by itself, or one of its
// attempts: such an end counts if it comes again and again, for longer than the
// machine stands still.
func (f *fleet) hold(n int, p Pair, g *Grid) string { return f.holdLine(n, noLine, p, g) }

// noLine stands for a pair whose line is not looked at.
const noLine = -1

// holdLine is hold for the i-th pair, whose line is looked at later.
func (f *fleet) holdLine(n, i int, p Pair, g *Grid) string {
	return whileLate(func() (said string, late bool) { return f.once(n, i, p, g) })
}

// whileLate is what once says, again and again while a bound of time may have had a part in it.
func whileLate(once func() (said string, late bool)) string {
	said, late := once()
	for pause := 100 * time.Millisecond; said != "" && late && pause < slowest; pause *= 2 {
		time.Sleep(pause)
		said, late = once()
	}
	return said
}

// late reports whether a bound of time may have had a part in what became of a request that
// began then.
func (o *Observed) late(began time.Time) bool {
	const status = http.StatusGatewayTimeout
	return time.Since(began) > quick || o.Status == status || o.grpcStatus() == grpcStatuses[status] || o.Cut
}

// once asks once for the i-th pair; late reports whether a bound of time may have
// had a part in it.
func (f *fleet) once(n, i int, p Pair, g *Grid) (said string, late bool) {
	w, err := f.worlds[n].as(p.From)
	if err != nil {
		return "world: " + err.Error(), false
	}
	if toBytes(p) {
		return f.connected(w, p, g)
	}
	began := time.Now()
	id := fmt.Sprintf("%08d", asked.Add(1)) // of one length, for bounds on headers count it
	o, err := f.ask(w, p, id)
	if err != nil {
		return "ask: " + err.Error(), false
	}
	p = p.sent(id)
	late = o.late(began)
	v, err := sim.Run(w, w.Resolved.Ref, p.Request)
	if err != nil {
		if o.Status == 0 || o.Status == http.StatusBadRequest {
			return "", false
		}
		return fmt.Sprintf("sim: %v; Envoy: %s", err, o.text()), false
	}
	said = f.differs(n, w, p, &v, o)
	if said == "" {
		said = w.exceeds(&v) // which is what happened, too
	}
	if said == "" && i != noLine {
		f.lines.want(i, &v, o)
	}
	g.count(w, &v, said)
	if announced(&v) {
		return "", false
	}
	return said, late
}

// differs says where a verdict and reality differ. Where those who are called let in different
// callers, one of its branches has to explain what happened.
func (f *fleet) differs(n int, w *World, p Pair, v *sim.Verdict, o *Observed) string {
	judged := func(b sim.Branch) bool { return b.Permission != nil || b.Reason != "" }
	if len(v.Branches) > 1 && !slices.ContainsFunc(v.Branches, judged) {
		return fmt.Sprintf("sim has %d branches for a world without chance", len(v.Branches))
	}
	o = o.asRefused(v)
	var reasons []string
	for i := range v.Branches {
		one := *v
		one.Branches = v.Branches[i : i+1]
		if len(o.Attempts) > 1 {
			one.Branches = []sim.Branch{repeatedAmong(v.Branches, i)}
		}
		said := disagreement(w, p, &one, o)
		if said == "" && len(o.Attempts) > 0 {
			said = f.copies(n, &one, o.id)
		}
		if said == "" {
			return ""
		}
		reasons = append(reasons, said)
	}
	return strings.Join(reasons, "\n")
}

// repeatedAmong is a branch with those who let the caller in as somebody else beside those of its own:
// an attempt after the first may come to any of them.
func repeatedAmong(all []sim.Branch, at int) sim.Branch {
	one := all[at]
	one.Backends = slices.Clone(one.Backends)
	for i := range one.Backends {
		x := &one.Backends[i]
		x.Inbounds = slices.Clone(x.Inbounds)
		for n, other := range all {
			if n == at || other.Outcome != sim.Forward {
				continue
			}
			for _, y := range other.Backends {
				if y.Kind == x.Kind && y.Name == x.Name {
					x.Inbounds = append(x.Inbounds, y.Inbounds...)
				}
			}
		}
	}
	return one
}

// notOfEnvoy is what verdicts do not know that other requests and workloads decide.
var notOfEnvoy = []string{timeline.RetryBudget, timeline.NothingAttempted, sim.SocketInHTTP2}

// ofOthers reports whether what a verdict does not know is about how many requests there are, and how others fare.
func ofOthers(s string) bool {
	return strings.HasPrefix(s, "limits: ") || strings.HasPrefix(s, "health: ") || strings.Contains(s, " of one endpoint of ")
}

// announced reports whether v says that it does not know what becomes of the
// request. What it says about
// other requests at the same time, or about answers that nobody gives, does not count.
func announced(v *sim.Verdict) bool {
	return slices.ContainsFunc(v.Unknown, func(s string) bool { return !slices.Contains(notOfEnvoy, s) && !ofOthers(s) })
}

// short is the request in one line.
func (p Pair) short() string {
	q := p.Request
	text := fmt.Sprintf("HTTP/%s %.40s %.60s", cmp.Or(q.Version, "1.1"), q.Method, q.URL)
	for _, name := range sortedKeys(q.Headers) {
		text += fmt.Sprintf(" [%.20s: %.30q]", name, q.Headers[name])
	}
	return text + fmt.Sprintf(" answers %s, %d bytes, chunked %v", q.Answers, q.Body, p.Chunked)
}

// Report is a disagreement in the smallest world that still has it.
type Report struct {
	Pair
	Said string
}

// String is the case as testdata keeps it, and what it is about.
func (r Report) String() string {
	text, err := json.MarshalIndent(r.Pair, "", " ")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s\n%s", r.Said, text)
}

// Run compares n pairs and returns the first disagreements, reduced.
func Run(t testing.TB, about theme, seed uint64, n int, g *Grid) []Report {
	t.Helper()
	r := newRoom(t, workloadNames...)
	var reports []Report
	each := about.each
	for from := 0; from*each < n && len(reports) == 0; from += worldsPerFleet {
		count := min(worldsPerFleet, (n+each-1)/each-from)
		worlds, pairs := drawPairs(t, about, seed, from, count)
		seen := map[int]bool{}
		for i, s := range compare(t, r, worlds, pairs, g) {
			if s == "" {
				continue
			}
			t.Logf("seed %d, world %d, request %d: %s\n%s", seed, from+i/each, i%each, pairs[i].short(), s)
			if seen[i/each] || len(reports) == 3 {
				continue
			}
			seen[i/each] = true
			reports = append(reports, reduce(t, r, pairs[i], s))
		}
	}
	return reports
}

// Replay compares kept cases.
func Replay(t testing.TB, r *room, cases []Pair) []string {
	t.Helper()
	var said []string
	for len(cases) > 0 {
		some := cases[:min(len(cases), worldsPerFleet)]
		cases = cases[len(some):]
		var worlds []Source
		for _, p := range some {
			worlds = append(worlds, p.Source)
		}
		said = append(said, compare(t, r, worlds, some, NewGrid())...)
	}
	return said
}
