package authorization

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
)

// mostOverlaps bounds how many pairs of rules are told of a policy.
const mostOverlaps = 5

// Overlaps tells of rules whose requests are asked for a policy on routes although it is not attached to
// them, because what arrives may as well be that of a rule to which it is.
func (p *InboundPlacements) Overlaps(of *index.Policy) (out []string) {
	if p == nil {
		return nil
	}
	var ways []*ArrivingRules
	more := 0
	for _, w := range p.paths {
		if slices.Contains(ways, w) {
			continue
		}
		ways = append(ways, w)
		for i, r := range w.Rows {
			if !r.By(of) || r.Closed != "" {
				continue
			}
			for k, s := range w.Rows {
				if i == k || !w.overlap(i, k) {
					continue
				}
				text := overlapText(r, s)
				switch {
				case slices.Contains(out, text):
				case len(out) < mostOverlaps:
					out = append(out, text)
				default:
					more++
				}
			}
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and so it is with %d more pairs of rules", more))
	}
	return out
}

// overlap reports whether what the k-th row sends is asked for the policies of the i-th, and somebody wrote
// both rules and may not know it. What goes to a rule for everything that no other takes is
// left out: nobody thinks of a part of it that it is open.
func (w *ArrivingRules) overlap(i, k int) bool {
	r, s := w.Rows[i], w.Rows[k]
	if len(s.rules) == 0 || derive.Same(r.rules, s.rules) || slices.Equal(r.attached, s.attached) || r.match.Disjoint(s.match.Conditions) {
		return false
	}
	switch {
	case keptFrom(w.Rows, i, k):
		return false
	case !s.plain || k < i:
		return true
	case r.plain:
		return !s.changed.Leaves(r.match.Conditions)
	}
	return !s.match.Everything()
}

func overlapText(r, s *Row) string {
	both := fmt.Sprintf("%s may arrive as what %s takes (%s), and nobody can tell them apart then, so they are asked for this permission too", requestsOf(s.rules), rulesText(r.rules), r.match.And(s.match.Conditions).Short())
	if len(s.attached) > 0 {
		both += fmt.Sprintf(", and for %s: only those get in whom both let in", s.attached[0].policy.Object.Ref)
	}
	return both + "; let them arrive by different paths"
}

func requestsOf(rules []*api.Origin) string { return "requests of " + rulesText(rules) }
