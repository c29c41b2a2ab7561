package authorization

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route/match"
)

// What the table of a sender gives to a rule with policies never gets more than they say, whatever
// other rules arrive as (docs/decisions/permissions.md). An inbound sees requests as they arrive alone, so of
// each it asks the policies of every rule that may have sent it: of those that lead to the inbound and
// whose requests arrive so. A rule is out of question where one before it takes the same requests
// unchanged, and it does not make such requests of others: then the sender would have given them to
// that one.

// ArrivingRules is what inbounds ask to which the same rules of a frontend lead.
type ArrivingRules struct {
	Rows   []*Row // that lead there; of their policies those that have a say there
	asked  []*combination
	oldest int64 // when the oldest of the policies was made
}

// combination is what is asked of requests that arrive so, and that none before it takes.
type combination struct {
	match  match.Match
	rules  []*api.Origin // by which they may have come
	of     []*Row        // those with policies, all of which are asked; none: what holds of all requests
	closed string        // why nobody gets in
}

func (w *ArrivingRules) equal(o *ArrivingRules) bool {
	return w == o || w != nil && o != nil && w.oldest == o.oldest && slices.EqualFunc(w.Rows, o.Rows, (*Row).equal)
}

// Alike reports whether both treat requests alike.
func (w *ArrivingRules) Alike(o *ArrivingRules) bool {
	return slices.EqualFunc(w.asked, o.asked, func(a, b *combination) bool {
		return a.closed == b.closed && slices.EqualFunc(a.match.Conditions, b.match.Conditions, match.Condition.Equal) &&
			slices.EqualFunc(a.of, b.of, func(r, s *Row) bool { return slices.Equal(r.attached, s.attached) })
	})
}

// Path is that to an inbound; nil where none leads there.
func (p *InboundPlacements) Path(at InboundPlacement) *ArrivingRules {
	i := slices.Index(p.List, at)
	if i < 0 || i >= len(p.paths) {
		return nil
	}
	return p.paths[i]
}

// pathsTo finds the way to each place. Places to which the same rules lead, and about which the same
// policies have a say, share one.
func (m Mesh) pathsTo(f *DestinationRules, out *InboundPlacements) {
	among := map[InboundPlacement]bool{}
	for _, at := range out.List {
		among[at] = true
	}
	// Most rules lead to the same: those with equal targets are found together.
	of, targets := make([]int, len(f.Rows)), []string(nil)
	leads := map[InboundPlacement][]byte{}
	for i, row := range f.Rows {
		key := fmt.Sprint(row.to)
		if of[i] = slices.Index(targets, key); of[i] >= 0 {
			continue
		}
		of[i], targets = len(targets), append(targets, key)
		for _, to := range row.to {
			m.behind(to, func(p *index.Dataplane, address string) {
				if at := (InboundPlacement{index.ObjectKey(p.Object.Ref), address}); among[at] {
					for len(leads[at]) <= of[i] {
						leads[at] = append(leads[at], '0')
					}
					leads[at][of[i]] = '1'
				}
			})
		}
	}
	ways := map[string]*ArrivingRules{}
	for _, at := range out.List {
		plane := index.Need(m.Dataplanes, m.At, at.Plane)
		key := strings.TrimRight(string(leads[at]), "0") + " " + plane.Object.HomeNamespace()
		if ways[key] == nil {
			ways[key] = pathOf(f, plane, func(i int) bool { return of[i] < len(leads[at]) && leads[at][of[i]] == '1' })
		}
		out.paths = append(out.paths, ways[key])
	}
}

// pathOf is that of the rows which lead to a dataplane. A policy of a namespace says nothing about who
// may call workloads of another one, be it attached to a route that leads there: it neither opens
// nor closes them (spec/identity.md 7, I12).
func pathOf(f *DestinationRules, plane *index.Dataplane, leads func(row int) bool) *ArrivingRules {
	out := &ArrivingRules{}
	for i, row := range f.Rows {
		if !leads(i) {
			continue
		}
		if slices.ContainsFunc(row.attached, func(by attachment) bool { return !by.policy.AuthorizesAt(plane) }) {
			own := *row
			own.attached = slices.DeleteFunc(slices.Clone(row.attached), func(by attachment) bool { return !by.policy.AuthorizesAt(plane) })
			row = &own
		}
		out.Rows = append(out.Rows, row)
		for _, by := range row.attached {
			if made := by.policy.Object.Created.UnixNano(); out.oldest == 0 || made < out.oldest {
				out.oldest = made
			}
		}
	}
	out.asked = askedBy(out.Rows)
	return out
}

// askedBy is what is asked of requests, in the order in which they are compared: of those that several
// rules may have sent before those that one of them may have.
func askedBy(rows []*Row) []*combination {
	a := asking{rows: rows}
	last, anywhere, stands := -1, []int(nil), make([]bool, len(rows)) // some may arrive where another one stands
	for i, r := range rows {
		stands[i] = r.plain && !r.apart
		if len(r.attached) == 0 {
			continue
		}
		switch last = i; {
		case r.apart && r.Closed != "": // denied before anything else is asked
			a.out = append(a.out, r.alone())
		case floats(rows, i):
			anywhere, stands[i] = append(anywhere, i), false
		}
	}
	for i, r := range rows[:last+1] {
		if !stands[i] {
			continue
		}
		var with []int
		for _, k := range anywhere {
			if !keptFrom(rows, k, i) && !rows[k].match.Disjoint(r.match.Conditions) {
				with = append(with, k)
			}
		}
		a.each(&combination{match: r.match}, r, with)
	}
	a.each(&combination{match: match.CatchAll}, nil, anywhere)
	return a.out
}

// floats reports whether a row may send what a row before it stands for, because it makes it so, or
// takes requests unchanged that may not be told from its own.
func floats(rows []*Row, i int) bool {
	r := rows[i]
	if !r.plain || r.apart || r.Closed != "" {
		return true
	}
	for k, e := range rows[:i] {
		if e.plain && !keptFrom(rows, i, k) && !e.match.Disjoint(r.match.Conditions) {
			return true
		}
	}
	return false
}

// keptFrom reports whether what arrives as row by says is none of the requests of row i, for the sender gives
// what it was to by.
func keptFrom(rows []*Row, i, by int) bool {
	return by < i && rows[by].plain && !rows[i].apart && !rows[by].apart && rows[i].changed.Leaves(rows[by].match.Conditions)
}

// asking gathers what is asked.
type asking struct {
	rows   []*Row
	out    []*combination
	stands bool // a row, where it is asked
	left   int  // how much more may be asked there
}

// mostAsked bounds what is told apart where one row stands.
const mostAsked = 256

// each adds what is asked where a row stands, nil for where none does: for each choice of the rows that
// may arrive there too.
func (a *asking) each(at *combination, row *Row, with []int) {
	if a.stands = row != nil; a.stands {
		at.add(row)
	}
	before := len(a.out)
	if a.left = mostAsked + len(with); a.choose(at, with) {
		return
	}
	a.out = a.out[:before]
	for _, k := range with {
		a.out = append(a.out, &combination{match: match.Match{Conditions: at.match.And(a.rows[k].match.Conditions)}, rules: a.rows[k].rules,
			closed: fmt.Sprintf("more than %d choices of rules with permissions arrive alike, such as %s; let them arrive by different paths", mostAsked, rulesText(a.rows[k].rules))})
	}
	if row != nil {
		a.out = append(a.out, at)
	}
}

// choose is each for the rows that are left; false where there is too much.
func (a *asking) choose(at *combination, with []int) bool {
	for len(with) > 0 {
		k := a.rows[with[0]]
		with = with[1:]
		if at.asks(k) || at.match.Disjoint(k.match.Conditions) {
			continue
		}
		both := &combination{match: match.Match{Conditions: at.match.And(k.match.Conditions)}, rules: at.rules, of: slices.Clone(at.of), closed: at.closed}
		if both.add(k); !a.choose(both, with) {
			return false
		}
		if k.match.Implies(at.match.Conditions) {
			return true // all that arrives so
		}
	}
	if a.left--; a.stands || len(at.of) > 0 {
		a.out = append(a.out, at)
	}
	return a.left >= 0
}

// asks reports whether a row adds nothing to what is asked.
func (a *combination) asks(r *Row) bool {
	return a.closed != "" || r.Closed == "" && slices.ContainsFunc(a.of, func(o *Row) bool { return slices.Equal(o.attached, r.attached) })
}

// add makes what is asked that of a row too.
func (a *combination) add(r *Row) {
	for _, o := range r.rules {
		if !slices.ContainsFunc(a.rules, o.Same) {
			a.rules = append(slices.Clip(a.rules), o)
		}
	}
	if len(r.attached) > 0 {
		if a.of = append(a.of, r); a.closed == "" {
			a.closed = r.Closed
		}
	}
}

// alone is what is asked of the requests of a row without a thought for others.
func (r *Row) alone() *combination {
	out := &combination{match: r.match}
	out.add(r)
	return out
}

// rulesText names the strongest of the written rules behind a row.
func rulesText(rules []*api.Origin) string {
	if len(rules) == 0 {
		return "a rule"
	}
	o := rules[len(rules)-1]
	switch {
	case o.RuleName != "":
		return o.String() + " rule " + o.RuleName
	case o.Rule != nil:
		return fmt.Sprintf("%s rule %d", o, *o.Rule)
	}
	return o.String()
}
