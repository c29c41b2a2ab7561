package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// pair is one question to both.
type pair struct {
	Routes  []*resolve.Route
	Request sim.Request
}

// requestsPerWorld is how much is asked of each table.
const requestsPerWorld = 20

// TestAgreesWithEnvoy asks the simulator and a real Envoy the same questions about
// random route tables. WEFT_PAIRS sets how many, WEFT_SEED where to begin.
func TestAgreesWithEnvoy(t *testing.T) {
	t.Parallel()
	pairs, seed := number(t, "WEFT_PAIRS", 4_000), uint64(number(t, "WEFT_SEED", 1))
	cover := grid{}
	for n := 0; n < pairs; n += 200 * requestsPerWorld {
		worlds := min(200, (pairs-n+requestsPerWorld-1)/requestsPerWorld)
		d := dice{rand.New(rand.NewPCG(seed, uint64(n)))}
		if wrong := ask(t, drawn(d, worlds), cover); len(wrong) > 0 {
			small, why := shrink(t, wrong[0])
			t.Errorf("%s\nkeep it in testdata/envoy:\n%s", why, caseText(small, why))
		}
		if t.Failed() {
			break
		}
	}
	cover.report(t)
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func drawn(d dice, worlds int) []pair {
	var out []pair
	for range worlds {
		routes := d.table()
		for range requestsPerWorld {
			q := d.request()
			if d.chance(60) {
				q = d.aimed(&routes[d.IntN(len(routes))].Match, q)
			}
			out = append(out, pair{routes, q})
		}
	}
	return out
}

// ask puts all pairs to one Envoy and returns those on which it disagrees, at
// most three.
func ask(t *testing.T, pairs []pair, cover grid) []pair {
	t.Helper()
	reasons := disagreements(t, pairs, cover)
	var wrong []pair
	for i, why := range reasons {
		if why != "" && len(wrong) < 3 {
			t.Logf("%s: %s %s %q", why, pairs[i].Request.Method, pairs[i].Request.URL, pairs[i].Request.Headers)
			wrong = append(wrong, pairs[i])
		}
	}
	return wrong
}

// disagreements has a reason, or none, for each pair.
func disagreements(t *testing.T, pairs []pair, cover grid) []string {
	t.Helper()
	var tables []*resolve.Table
	world := map[*resolve.Route]int{}
	shops := make([]*resolve.Resolved, len(pairs))
	for i, p := range pairs {
		shops[i] = shop(p.Routes...)
		if _, ok := world[p.Routes[0]]; !ok {
			world[p.Routes[0]] = len(tables)
			tables = append(tables, shops[i].Outbounds[0].Table)
		}
	}
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	defer oracle.Stop()
	reasons := make([]string, len(pairs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range next {
				reasons[i] = judge(oracle, world[pairs[i].Routes[0]], shops[i], pairs[i].Request)
			}
		})
	}
	for i := range pairs {
		next <- i
	}
	close(next)
	workers.Wait()
	if cover != nil {
		for i, p := range pairs {
			cover.count(shops[i], p)
		}
	}
	return reasons
}

func judge(oracle *envoytest.Oracle, world int, r *resolve.Resolved, q sim.Request) string {
	v, err := run(r, q)
	if err != nil {
		return fmt.Sprintf("sim refuses: %v", err)
	}
	a, err := oracle.Ask(world, question(q))
	if err != nil {
		return fmt.Sprintf("the test's client fails: %v", err)
	}
	return disagreement(v, a)
}
