package gateway

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route/match"
)

// anyMatch draws one that either kind of route may have.
func anyMatch(t *rapid.T) match.Match {
	op := rapid.SampledFrom([]match.Op{match.Equal, match.SegmentPrefix, match.BytePrefix, match.FullMatch}).Draw(t, "op")
	list := []match.Condition{matches.On(match.OnPath, op, "", rapid.SampledFrom([]string{"/", "/a", "/a/", "/a/b", "/aa/b"}).Draw(t, "path"))}
	if rapid.Bool().Draw(t, "no path") {
		list = nil
	}
	if rapid.Bool().Draw(t, "method") {
		list = append(list, matches.Method("GET"))
	}
	for _, on := range []match.Subject{match.OnHeader, match.OnQuery} {
		for _, name := range []string{"x", "y"} {
			if rapid.Bool().Draw(t, "value") {
				list = append(list, matches.On(on, match.Equal, name, "1"))
			}
		}
	}
	return matches.Of(list...)
}

// TestBothOrdersAreOrders: strict and weak.
func TestBothOrdersAreOrders(t *testing.T) {
	t.Parallel()
	for name, compare := range map[string]func(a, b *match.Match) int{"HTTP": compareHTTP, "gRPC": compareGRPC} {
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := anyMatch(t), anyMatch(t), anyMatch(t)
			sign := func(n int) int { return cmp.Compare(n, 0) }
			if sign(compare(&a, &b)) != -sign(compare(&b, &a)) {
				t.Fatalf("%s: %s and %s come before each other", name, a.Text(), b.Text())
			}
			if compare(&a, &b) < 0 && compare(&b, &c) < 0 && compare(&a, &c) >= 0 {
				t.Fatalf("%s: %s, %s, %s turn in a circle", name, a.Text(), b.Text(), c.Text())
			}
			if compare(&a, &b) == 0 && sign(compare(&a, &c)) != sign(compare(&b, &c)) {
				t.Fatalf("%s: %s and %s are equal, and %s tells them apart", name, a.Text(), b.Text(), c.Text())
			}
		})
	}
}
