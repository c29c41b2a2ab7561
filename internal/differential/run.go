package differential

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
)

const (
	requestsPerWorld = 8
	worldsPerEnvoy   = 250
	askers           = 16 // at one time
)

// slowest is the longest that a pair may take.
const slowest = 5 * time.Second

// script is what a backend does; slow answers cost as much time as the
// bound that they meet, so they are rare.
func (d draw) script(w *World, q sim.Request) string {
	steps := []string{"200", "200", "503", "500", "404", "418", "reset", "429"}
	if q.Headers["content-type"] != "" {
		steps = []string{"200", "grpc:14", "grpc:14", "grpc:8", "grpc:0", "503", "reset"}
	}
	script := ""
	for range d.IntN(4) {
		script += one(d, steps...) + ","
	}
	if d.chance(1) {
		slow := Pair{Request: q, Script: script + "slow:30s"}
		if line, err := sim.Play(w.Model, w.Resolved.Ref, q, answers(slow.Script, isGRPC(slow))); err == nil && len(line.Ends) == 1 && line.Ends[0].Latest < slowest {
			return slow.Script
		}
	}
	return script + "200"
}

// drawPairs makes worlds and requests; equal seeds give equal ones.
func drawPairs(t testing.TB, seed uint64, from, n int) (worlds []*World, pairs []Pair) {
	t.Helper()
	for i := range n {
		d := newDraw(seed, uint64(from+i))
		w, err := compile(d.documents())
		if err != nil {
			t.Fatalf("seed %d, world %d: %v", seed, from+i, err)
		}
		worlds = append(worlds, w)
		for range requestsPerWorld {
			q := d.request()
			if w.table().Destination.Protocol == "grpc" && d.chance(7) {
				q.Method, q.Headers["content-type"] = "POST", "application/grpc"
			}
			p := Pair{Documents: w.Documents, Request: q}
			if d.chance(5) {
				p.Script = d.script(w, q)
			}
			pairs = append(pairs, p)
		}
	}
	return worlds, pairs
}

// ask sends pair i into world at(i) and returns what each disagreement says.
func ask(t testing.TB, worlds []*World, pairs []Pair, at func(int) int, g *Grid) []string {
	t.Helper()
	list := make([]envoytest.World, len(worlds))
	for i, w := range worlds {
		list[i] = w.oracleWorld()
	}
	oracle := envoytest.NewOracle(t, world.Kinds(), list)
	defer oracle.Stop()
	said, ids := make([]string, len(pairs)), make([]string, len(pairs))
	next := make(chan int)
	var group sync.WaitGroup
	for range askers {
		group.Go(func() {
			for i := range next {
				a, err := oracle.Ask(at(i), question(pairs[i].Request, pairs[i].Script))
				if err != nil {
					said[i] = err.Error()
					continue
				}
				w := worlds[at(i)]
				s, taken := disagreement(w, pairs[i], a)
				said[i] = s
				if a.Cluster != "" {
					ids[i] = a.ID
				}
				g.count(taken)
			}
		})
	}
	for i := range pairs {
		next <- i
	}
	close(next)
	group.Wait()
	for i, id := range ids {
		if id != "" && said[i] == "" {
			w := worlds[at(i)]
			oracle.Settle(func() bool { return copied(w, pairs[i], len(oracle.Copies(id))) == "" })
			said[i] = copied(w, pairs[i], len(oracle.Copies(id)))
		}
	}
	return said
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
func Run(t testing.TB, seed uint64, n int, g *Grid) []Report {
	t.Helper()
	var reports []Report
	for from := 0; from*requestsPerWorld < n && len(reports) == 0; from += worldsPerEnvoy {
		count := min(worldsPerEnvoy, (n+requestsPerWorld-1)/requestsPerWorld-from)
		worlds, pairs := drawPairs(t, seed, from, count)
		seen := map[int]bool{}
		for i, s := range ask(t, worlds, pairs, func(i int) int { return i / requestsPerWorld }, g) {
			if s == "" || seen[i/requestsPerWorld] || len(reports) == 3 {
				continue
			}
			seen[i/requestsPerWorld] = true
			reports = append(reports, reduce(t, pairs[i], s))
		}
	}
	return reports
}

// Replay compares one kept case.
func Replay(t testing.TB, cases []Pair) []string {
	t.Helper()
	var worlds []*World
	for _, p := range cases {
		w, err := compile(p.Documents)
		if err != nil {
			t.Fatal(err)
		}
		worlds = append(worlds, w)
	}
	return ask(t, worlds, cases, func(i int) int { return i }, NewGrid())
}
