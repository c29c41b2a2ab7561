package inspect

import (
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

func anyMatch(t *rapid.T) match.Match {
	var m match.Match
	ask := func(c match.Condition) { m.Conditions = append(m.Conditions, c) }
	if rapid.Bool().Draw(t, "path") {
		ask(matches.On(match.OnPath, rapid.SampledFrom([]match.Op{match.Equal, match.SegmentPrefix, match.BytePrefix, match.FullMatch}).Draw(t, "op"), "",
			rapid.SampledFrom([]string{"/", "/a", "/a/b", "/ab"}).Draw(t, "value")))
	}
	if method := rapid.SampledFrom([]string{"", "GET", "POST"}).Draw(t, "method"); method != "" {
		ask(matches.Method(method))
	}
	for _, n := range []string{"x", "y"} {
		switch rapid.IntRange(0, 5).Draw(t, "header") {
		case 0:
			ask(matches.On(match.OnHeader, match.Equal, n, "1"))
		case 1:
			ask(matches.On(match.OnHeader, match.Present, n, ""))
		case 2:
			ask(matches.Absent(n))
		}
	}
	if rapid.Bool().Draw(t, "query") {
		ask(matches.On(match.OnQuery, match.Equal, "q", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "q")))
	}
	return m
}

// only is a world of one dataplane.
type only struct{ plane *effective.Resolved }

func (o only) Dataplane(api.Ref) (*effective.Resolved, bool) { return o.plane, true }

func (o only) Destinations(string) iter.Seq[*effective.Destination] {
	return slices.Values([]*effective.Destination(nil))
}

func (only) NamesFor(api.Ref, *effective.Destination, string) bool { return true }

func takes(t *rapid.T, m match.Match, q wire.Request) bool {
	d := &effective.Destination{ID: "web:80", Kind: api.KindMeshService, Name: "web", Port: 80, Protocol: api.HTTP}
	r := &effective.Resolved{Outbounds: []*effective.Outbound{{Destination: d, Table: &effective.Table{Destination: d, Routes: []*effective.Route{{Match: m}}}}}}
	v, err := sim.Run(only{r}, r.Ref, q)
	if err != nil {
		t.Fatal(err)
	}
	return v.Branches[0].Route != nil
}

// What is called shadowed is never reached.
func TestWhatCoversTakesEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyMatch(t), anyMatch(t)
		if !a.Implies(b.Conditions) {
			return
		}
		path := rapid.SampledFrom([]string{"/", "/a", "/a/", "/a/b", "/ab", "/a/b/c"}).Draw(t, "path") + rapid.SampledFrom([]string{"", "?q=1", "?q=2"}).Draw(t, "query")
		q := wire.Request{Method: rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"), URL: "http://web" + path, Headers: wire.Headers{}}
		for _, n := range []string{"x", "y"} {
			if rapid.Bool().Draw(t, "has") {
				q.Headers[n] = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")
			}
		}
		if takes(t, b, q) && !takes(t, a, q) {
			t.Fatalf("%s should cover %s, but not for %s %s %v", a.Short(), b.Short(), q.Method, q.URL, q.Headers)
		}
	})
}
