package wire

import (
	"math"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Envoy draws one number for a request. Conditions on a chance and shares of copies
// compare what it leaves when divided by a million, weights what it leaves when
// divided by their sum: so they depend on each other where these have a common
// divisor (held against a real Envoy).

// Span is draws that follow each other, in millionths: From <= n < Until.
type Span struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// Draws are those that are possible: spans in order, apart from each other.
type Draws []Span

// AnyDraw is all draws.
var AnyDraw = Draws{{0, match.Chances}}

// Count is how many they are.
func (d Draws) Count() int64 {
	n := int64(0)
	for _, s := range d {
		n += s.Until - s.From
	}
	return n
}

// Below are those that are less than n.
func (d Draws) Below(n int64) Draws {
	var out Draws
	for _, s := range d {
		if s.From < n {
			out = append(out, Span{s.From, min(s.Until, n)})
		}
	}
	return out
}

// And are d with what comes behind them.
func (d Draws) And(s Span) Draws {
	if n := len(d); n > 0 && d[n-1].Until == s.From {
		d[n-1].Until = s.Until
		return d
	}
	return append(d, s)
}

// Cut divides d where a route begins or ends to hold by chance.
func (d Draws) Cut(routes []*effective.Route) []Span {
	var at []int64
	for _, rt := range routes {
		for i := range rt.Match.Conditions {
			if c := &rt.Match.Conditions[i]; c.On == match.OnChance {
				at = append(at, c.From, c.Until)
			}
		}
	}
	slices.Sort(at)
	var out []Span
	for _, s := range d {
		for _, n := range slices.Compact(at) {
			if s.From < n && n < s.Until {
				out = append(out, Span{s.From, n})
				s.From = n
			}
		}
		out = append(out, s)
	}
	return out
}

// leaving counts those that leave less than r when they are divided by m.
func (d Draws) leaving(m, r int64) int64 {
	below := func(n int64) int64 { return n/m*r + min(n%m, r) }
	n := int64(0)
	for _, s := range d {
		n += below(s.Until) - below(s.From)
	}
	return n
}

// Share is the part of d in which Envoy chooses the weights from low until high, of
// total.
func (d Draws) Share(low, high, total uint64) float64 {
	if total > math.MaxUint32 { // they are scaled down, and share no divisor to speak of
		return float64(high-low) / float64(total)
	}
	m := route.GCD(match.Chances, int64(total))
	from, until := int64(low), int64(high)
	chosen := (until/m-from/m)*d.Count() + d.leaving(m, until%m) - d.leaving(m, from%m)
	return float64(chosen) / (float64(d.Count()) * float64(int64(total)/m))
}
