package sim_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

func chance(from, until int64) match.Condition {
	return matches.Must(match.Within(match.OnChance, "", from, until))
}

// TestSharesOfDraws: one number decides both, so that a draw leaves those weights
// which some number with that draw leaves.
func TestSharesOfDraws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := uint64(rapid.SampledFrom([]int{1, 2, 3, 4, 7, 10, 64, 100, 250, 999, 1000, 1024}).Draw(t, "total"))
		low := rapid.Uint64Range(0, total-1).Draw(t, "low")
		high := rapid.Uint64Range(low+1, total).Draw(t, "high")
		var spans []wire.Span
		for at, n := int64(0), rapid.IntRange(1, 3).Draw(t, "spans"); n > 0; n-- {
			from := at + rapid.Int64Range(0, 300_000).Draw(t, "gap")
			at = from + rapid.Int64Range(1, 300).Draw(t, "length")
			spans = append(spans, wire.Span{From: from, Until: at})
		}
		chosen, all := 0, 0
		for _, s := range spans {
			for draw := s.From; draw < s.Until; draw++ {
				for n := uint64(draw); n < uint64(draw)+1024*match.Chances; n += match.Chances {
					if all++; low <= n%total && n%total < high {
						chosen++
					}
				}
			}
		}
		// 1024 numbers have every remainder that is possible, if not all as often.
		slack := float64(total) / 1024
		if got, want := wire.Draws(spans).Share(low, high, total), float64(chosen)/float64(all); math.Abs(got-want) > slack*want+1e-9 {
			t.Fatalf("%d to %d of %d by %v: %v, want %v", low, high, total, spans, got, want)
		}
	})
}

// chances are routes between which a draw decides, with what else depends on it.
func chances() *effective.Resolved {
	copied := effective.Mirror{Backend: to("v3", 1), Percent: 30}
	return shop(
		&effective.Route{Key: "first", Match: matches.Of(chance(0, 250_000)), Backends: []effective.Backend{to("v1", 500_000), to("v2", 500_000)}},
		&effective.Route{Key: "second", Match: matches.Of(chance(250_000, 500_000)), Backends: []effective.Backend{to("v1", 3), to("v2", 1)}, Mirrors: []effective.Mirror{copied}},
		&effective.Route{Key: "never", Match: matches.Of(chance(300_000, 400_000)), Backends: []effective.Backend{to("v1", 1)}},
		&effective.Route{Key: "else", Match: matches.Of(matches.Method("PUT")), Backends: []effective.Backend{to("v1", 1)}},
		&effective.Route{Key: "rest", Match: match.CatchAll, Backends: []effective.Backend{to("v1", 600_000), lost(100_000), to("v2", 300_000)}, Mirrors: []effective.Mirror{{Backend: to("v3", 1), Percent: 65}}},
	)
}

// branchText is a branch in one line.
func branchText(b sim.Branch) string {
	text := fmt.Sprintf("%.4g %v %s %s", b.Probability, b.Draws, b.Route.Key, outcomeText(b))
	for _, m := range b.Mirrors {
		text += fmt.Sprintf(" copy=%.4g", m.Share)
	}
	return text
}

// TestChanceInGroups: where nobody says what is drawn, all that may be is shown, with
// its share; a draw that is given decides.
func TestChanceInGroups(t *testing.T) {
	t.Parallel()
	const second = "0.25 [{250000 500000}] second forward 0: v1=0.75/0 v2=0.25/0 copy=0.2"
	for _, c := range []struct {
		draw   int64 // -1 for none
		method string
		want   string
	}{
		{-1, "GET", "0.25 [{0 250000}] first forward 0: v1=1/0; " + second + "; 0.5 [{500000 1000000}] rest forward 0: v1=0.2/0 nosuch=0.2/500 v2=0.6/0 copy=0.2"},
		{-1, "PUT", "0.25 [{0 250000}] first forward 0: v1=1/0; " + second + "; 0.5 [{500000 1000000}] else forward 0: v1=1/0"},
		{0, "GET", "1 [] first forward 0: v1=1/0"},
		{249_999, "GET", "1 [] first forward 0: v1=1/0"},
		{250_000, "GET", "1 [] second forward 0: v1=1/0 copy=1"},
		{300_003, "GET", "1 [] second forward 0: v2=1/0"},
		{650_000, "GET", "1 [] rest respond 500: nosuch=1/500"},
		{999_999, "GET", "1 [] rest forward 0: v2=1/0"},
	} {
		q := wire.Request{URL: "http://web:8080/", Method: c.method}
		if c.draw >= 0 {
			q.Draw = &c.draw
		}
		v, err := run(chances(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range v.Branches {
			got = append(got, branchText(b))
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s, draw %d:\n%s, want\n%s", c.method, c.draw, got, c.want)
		}
	}
}

// TestWhatChanceLeavesOut: of a route that no draw comes to it is told why; of one that
// some draw comes to there is a branch.
func TestWhatChanceLeavesOut(t *testing.T) {
	t.Parallel()
	draw := int64(700_000)
	for want, q := range map[string]wire.Request{
		`never: chance: routes before it take every draw from 300000 until 400000; else: method GET is not PUT`: {Method: "GET"},
		`first: chance 700000 is not in the range from 0 until 250000; second: chance 700000 is not in the range from 250000 until 500000; ` +
			`never: chance 700000 is not in the range from 300000 until 400000`: {Method: "PUT", Draw: &draw},
	} {
		q.URL = "http://web:8080/"
		v, err := run(chances(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range v.Missed {
			got = append(got, m.Key+": "+m.Reason)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, err := playing(chances(), wire.Request{URL: "http://web:8080/"}, func(int) timeline.BackendResponse { return timeline.BackendResponse{Status: 200} }); err == nil {
		t.Error("it is played, although chance decides what")
	}
	v, err := run(chances(), wire.Request{URL: "http://web:8080/", Answers: "200"})
	if err != nil || slices.ContainsFunc(v.Branches, func(b sim.Branch) bool { return len(b.Ends) != 1 }) {
		t.Errorf("%v: not every branch is played: %+v", err, v.Branches)
	}
}

// TestUnsoundDraws: what cannot be drawn, and what has no draw.
func TestUnsoundDraws(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]wire.Request{
		"draw: -1 is not a draw":                             {URL: "http://web:8080/", Draw: ptr[int64](-1)},
		"draw: 1000000 is not a draw":                        {URL: "http://web:8080/", Draw: ptr[int64](1_000_000)},
		"url: a connection has no draw and no claims; leave": {URL: "tcp://web:8080", Draw: ptr[int64](0)},
		"url: nobody asks the authorization service about":   {URL: "tcp://web:8080", Authz: "allow"},
		"authz: \"maybe\" is no answer":                      {URL: "http://web:8080/", Authz: "maybe"},
		"authz: \"100\" is no answer":                        {URL: "http://web:8080/", Authz: "100"},
		"url: a connection has no draw and no claims":        {URL: "tcp://web:8080", Claims: map[string]string{}},
	} {
		if _, err := run(shop(), q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestChanceAgreesWithEnvoy: many requests go where the branches say, as often as they
// say; what has no part never happens.
func TestChanceAgreesWithEnvoy(t *testing.T) {
	t.Parallel()
	r := chances()
	for _, rt := range r.Outbounds[0].Table.Routes {
		rt.Name = rt.Key
	}
	v, err := run(r, wire.Request{URL: "http://web:8080/"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, b := range v.Branches {
		for _, x := range b.Backends {
			want[fmt.Sprintf("%s %s", b.Route.Key, strings.TrimPrefix(x.Name, "nosuch"))] += b.Probability * x.Share
		}
		for _, m := range b.Mirrors {
			want[b.Route.Key+" copied"] += b.Probability * m.Share
		}
	}
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(r.Outbounds[0].Table))
	const requests = 4_000
	answers := make([]*envoytest.Answer, requests)
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := w; i < requests; i += 8 {
				a, err := oracle.Ask(0, envoytest.Question{Method: "GET", Host: "web:8080", Path: "/"})
				if err != nil {
					t.Error(err)
					return
				}
				answers[i] = a
			}
		})
	}
	workers.Wait()
	if t.Failed() {
		return
	}
	copies := func() map[string]int {
		got := map[string]int{}
		for _, a := range answers {
			got[a.Route+" "+a.Cluster]++
			if len(oracle.Copies(a.ID)) > 0 {
				got[a.Route+" copied"]++
			}
		}
		return got
	}
	var got map[string]int
	likely := func(kind string, n int) bool {
		p := want[kind]
		return math.Abs(float64(n)-p*requests) <= 5*math.Sqrt(p*(1-p)*requests)
	}
	oracle.Settle(func() bool { // copies come when they come
		got = copies()
		return likely("second copied", got["second copied"]) && likely("rest copied", got["rest copied"])
	})
	for kind := range want {
		got[kind] += 0
	}
	for kind, n := range got {
		if !likely(kind, n) {
			t.Errorf("%s: %d of %d, and the simulator says %.4g", kind, n, requests, want[kind])
		}
	}
}

// TestClaims: those that are given decide. Where there is a token and nobody says what
// it claims, the verdict says which routes depend on that.
func TestClaims(t *testing.T) {
	t.Parallel()
	claim := matches.On(match.OnClaim, match.Equal, "iss", "example")
	r := shop(
		&effective.Route{Key: "post", Name: "post", Match: matches.Of(matches.Method("POST"), claim), Backends: []effective.Backend{to("v1", 1)}},
		&effective.Route{Key: "claimed", Name: "claimed", Match: matches.Of(claim), Backends: []effective.Backend{to("v2", 1)}},
		&effective.Route{Key: "rest", Name: "rest", Match: match.CatchAll, Backends: []effective.Backend{to("v3", 1)}},
		&effective.Route{Key: "behind", Name: "behind", Match: matches.Of(claim), Backends: []effective.Backend{to("v3", 1)}},
	)
	token := wire.Headers{"authorization": "Bearer x.y.z"}
	const unknown = `claims: those of the token are not given; where claim iss is "example", claimed takes the request`
	for name, c := range map[string]struct {
		q       wire.Request
		route   string
		missed  string
		unknown string
	}{
		"no token":     {wire.Request{}, "rest", "claim iss is missing", ""},
		"some token":   {wire.Request{Headers: token}, "rest", "claim iss is missing", unknown},
		"its claims":   {wire.Request{Headers: token, Claims: map[string]string{"iss": "example", "sub": "x"}}, "claimed", "", ""},
		"other claims": {wire.Request{Headers: token, Claims: map[string]string{"iss": "other"}}, "rest", `claim iss is "other", not "example"`, ""},
		"no claims":    {wire.Request{Headers: token, Claims: map[string]string{}}, "rest", "claim iss is missing", ""},
		"claims alone": {wire.Request{Claims: map[string]string{"iss": "example"}}, "claimed", "", ""},
	} {
		c.q.URL = "http://web:8080/"
		v, err := run(r, c.q)
		if err != nil {
			t.Fatal(err)
		}
		missed := ""
		for _, m := range v.Missed {
			if m.Key == "claimed" {
				missed = m.Reason
			}
		}
		if got := v.Branches[0].Route.Key; got != c.route || missed != c.missed || strings.Join(v.Unknown, "; ") != c.unknown {
			t.Errorf("%s: %s, missed %q, unknown %q", name, got, missed, v.Unknown)
		}
	}
}
