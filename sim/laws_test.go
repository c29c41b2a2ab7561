package sim_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/tables"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/buckets"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// anyDice lets rapid draw what the dice draw.
func anyDice(t *rapid.T) tables.Dice {
	return tables.Dice{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
}

func TestOneRouteTakesEveryRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDice(t)
		routes, q := drawn(d), d.Request()
		v, err := run(shop(routes...), q)
		if err != nil {
			t.Fatal(err)
		}
		taken := v.Branches[0].Route
		if taken == nil {
			if s := v.Branches[0].Status; s != 400 && s != 403 {
				t.Fatalf("no route, yet %d, although the last one matches all", s)
			}
			return
		}
		// The routes looked at are those missed, in order, and then the one taken.
		i := slices.IndexFunc(routes, func(r *effective.Route) bool { return r.Name == taken.Name })
		if len(v.Missed) != i {
			t.Fatalf("route %d is taken after %d were missed", i, len(v.Missed))
		}
		for n, m := range v.Missed {
			if m.Key != routes[n].Key || m.Reason == "" {
				t.Fatalf("miss %d is %+v, not of %s", n, m, routes[n].Key)
			}
		}
	})
}

func TestPartsAddUpToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDice(t)
		v, err := run(shop(drawn(d)...), d.Request())
		if err != nil {
			t.Fatal(err)
		}
		probability := 0.0
		for _, b := range v.Branches {
			probability += b.Probability
			share := 0.0
			for _, x := range b.Backends {
				if x.Share <= 0 {
					t.Fatalf("a backend without a share is listed: %+v", x)
				}
				share += x.Share
			}
			if len(b.Backends) > 0 && math.Abs(share-1) > 1e-9 {
				t.Fatalf("shares add up to %v", share)
			}
			if b.Outcome == sim.Forward && len(b.Backends) == 0 {
				t.Fatal("forwarded to nobody")
			}
		}
		if math.Abs(probability-1) > 1e-9 {
			t.Fatalf("probabilities add up to %v", probability)
		}
	})
}

// withoutBuckets leaves out in how many buckets of the table a limit counts.
func withoutBuckets(v sim.Verdict) sim.Verdict {
	for _, b := range v.Branches {
		for kind, p := range b.Policies {
			p.Buckets = 0
			b.Policies[kind] = p
		}
	}
	return v
}

func TestRoutesAfterTheOneTakenDoNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDice(t)
		routes, q := drawn(d), d.Request()
		before, err := run(shop(routes...), q)
		if err != nil {
			t.Fatal(err)
		}
		if before.Branches[0].Route == nil {
			return
		}
		cut := routes[:len(before.Missed)+1]
		after, err := run(shop(cut...), q)
		if err != nil || jsonText(withoutBuckets(after)) != jsonText(withoutBuckets(before)) {
			t.Fatalf("without the routes behind it: %v\n%s\nwas\n%s", err, jsonText(after), jsonText(before))
		}
	})
}

func TestBucketNeverGivesMoreThanItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := buckets.Bucket{Tokens: rapid.Uint32Range(1, 20).Draw(t, "tokens"), Interval: time.Duration(rapid.IntRange(51, 5000).Draw(t, "ms")) * time.Millisecond}
		at := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 20_000).Draw(t, "at")) * time.Millisecond
		}), 0, 60).Draw(t, "times")
		slices.Sort(at)
		given := b.Admit(at)
		for i := range at {
			n := 0
			for j := i; j < len(at); j++ {
				if given[j] {
					n++
				}
				if most := float64(b.Tokens) + (at[j]-at[i]).Seconds()/b.Interval.Seconds()*float64(b.Tokens); float64(n) > most+1e-6 {
					t.Fatalf("%d requests between %v and %v, at most %v", n, at[i], at[j], most)
				}
			}
		}
		if len(at) > 0 && !given[0] {
			t.Fatal("a full bucket refuses the first request")
		}
	})
}

func TestTimelineIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDice(t)
		r := under("http", d.Policies()...)
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"200", "500", "503", "409", "reset", "slow:30s", "slow:2m"}), 1, 6).Draw(t, "steps")
		line, err := playing(r, wire.Request{URL: "http://web:8080/"}, func(n int) timeline.BackendResponse { return scripted(steps[min(n, len(steps)-1)])(0) })
		if err != nil {
			t.Fatal(err)
		}
		if len(line.Ends) == 0 || len(line.Tries) == 0 {
			t.Fatal("nothing happens")
		}
		for i, try := range line.Tries {
			if try.Earliest > try.Latest || i > 0 && try.Earliest < line.Tries[i-1].Earliest {
				t.Fatalf("attempts out of order: %+v", line.Tries)
			}
		}
		for _, e := range line.Ends {
			if e.Attempts < 1 || e.Attempts > len(line.Tries) || e.Earliest > e.Latest || e.Status == 0 {
				t.Fatalf("%+v is no end of %+v", e, line.Tries)
			}
		}
	})
}

// FuzzRun promises that no request takes the simulator down, and that every
// answer says where the request goes.
func FuzzRun(f *testing.F) {
	f.Add("GET", "http://web:8080/a/../b?q1=1", "h1", "1", uint64(1))
	f.Add("", "http://[::1]:10001", "Host", "x", uint64(2))
	f.Add("CONNECT", "https://web", "connection", "upgrade", uint64(3))
	f.Add("POST", "http://web:8080/%00;..%", ":path", "\n", uint64(4))
	f.Fuzz(func(t *testing.T, method, url, name, value string, seed uint64) {
		d := tables.Dice{Rand: rand.New(rand.NewPCG(seed, 0))}
		v, err := run(shop(drawn(d)...), wire.Request{Method: method, URL: url, Headers: wire.Headers{name: value}})
		if err == nil && (len(v.Branches) == 0 || v.Branches[0].Outcome == "") {
			t.Fatalf("no outcome: %+v", v)
		}
	})
}
