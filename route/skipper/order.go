package skipper

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// entry is one option of a route at one leaf of the tree of paths.
type entry struct {
	*planned
	option int
	at     *leaf // nil where the route has no path
	weight int   // with what hosts count
}

// leaf is a place in the tree. A subtree has three: its path, the path with a slash
// at its end, and all below.
type leaf struct {
	path  pattern
	shape shape
}

type shape uint8

const (
	single    shape = iota // the path alone
	slashed                // of a subtree: with a slash at its end
	below                  // of a subtree: what is below that slash
	undivided              // all three, where nothing stands between them
)

// compareEntries is the order in which Envoy tries them (spec/routegroup.md 4):
// Skipper's, which goes from leaf to leaf and falls back from one to the next, and at
// a leaf by weight; and where Skipper leaves it to chance, a rule. It is a strict weak
// order: options of one route are equal, and keep their order.
func compareEntries(a, b *entry) int {
	return cmp.Or(
		match.FalseFirst(!a.hasPath, !b.hasPath),
		a.leafPath().compare(b.leafPath()),
		cmp.Compare(b.weight, a.weight),
		compareTied(a.planned, b.planned),
	)
}

// compareTied is the rule for routes of one weight at one leaf.
func compareTied(a, b *planned) int {
	return cmp.Or(
		match.FalseFirst(a.byChance(), b.byChance()),
		cmp.Compare(a.segmentFrom(), b.segmentFrom()),
		match.FalseFirst(a.subtree, b.subtree),
		cmp.Compare(b.asks.constraints, a.asks.constraints),
		cmp.Compare(a.origin.Namespace, b.origin.Namespace),
		cmp.Compare(a.origin.Name, b.origin.Name),
		cmp.Compare(*a.origin.Rule, *b.origin.Rule),
	)
}

// byChance reports whether the route asks for luck, in any of its options.
func (p *planned) byChance() bool {
	return p.asks.segment != nil || p.asks.draws()
}

// draws reports whether an option holds by a chance of its own.
func (a *asks) draws() bool {
	return slices.ContainsFunc(a.options, func(o option) bool { return o.chance < 1 })
}

func (p *planned) segmentFrom() float64 {
	if p.asks.segment == nil {
		return 0
	}
	return p.asks.segment[0]
}

// entries are those of a route, whose group names hosts or not.
func (p *planned) entries(hosted bool) []*entry {
	weight := p.weightOn(hosted)
	var out []*entry
	for _, at := range p.leaves() {
		for i := range p.asks.options {
			out = append(out, &entry{planned: p, option: i, at: at, weight: weight})
		}
	}
	return out
}

// weightOn is what the route weighs on a host that its group names or not.
func (p *planned) weightOn(hosted bool) int {
	if hosted {
		return p.weight + 1
	}
	return p.weight
}

// leaves are where the route stands in the tree: one without a path has no place in it.
func (p *planned) leaves() []*leaf {
	switch {
	case !p.hasPath:
		return []*leaf{nil}
	case !p.subtree:
		return []*leaf{{p.path, single}}
	}
	slash := &leaf{p.path.with(segment{}), slashed}
	all := &leaf{p.path.with(segment{kind: rest}), below}
	if len(p.path) == 0 {
		return []*leaf{slash, all}
	}
	return []*leaf{{p.path, single}, slash, all}
}

func (e *entry) leafPath() pattern {
	if e.at == nil {
		return nil
	}
	return e.at.path
}

// condition is what the leaf asks of the path.
func (l *leaf) condition() match.Condition {
	switch base := l.path[:max(0, len(l.path)-1)]; l.shape {
	case below:
		return must(base.belowCondition())
	case undivided:
		return must(base.subtreeCondition())
	}
	return must(l.path.condition())
}

// undivide puts the leaves of a subtree back together where nothing stands between
// them: then one prefix asks for all. It takes entries in their order and keeps it.
// An entry may wait for the last leaf of its subtree if all that would come before it
// then wait too: only these take the path of the subtree itself.
func undivide(entries []*entry) []*entry {
	type id struct {
		of     *planned
		option int
	}
	waits := map[id]bool{}
	for _, e := range entries {
		if e.at != nil && e.at.shape == below {
			waits[id{e.planned, e.option}] = true
		}
	}
	for changed := true; changed; {
		changed = false
		blocked := map[string]bool{} // leaves at which one stands that does not wait
		for _, e := range slices.Backward(entries) {
			if e.at == nil || e.at.shape == below {
				continue
			}
			me, key := id{e.planned, e.option}, e.at.path.key()
			switch {
			case !waits[me]:
				blocked[key] = true
			case blocked[key]:
				delete(waits, me)
				changed = true
			}
		}
	}
	var out []*entry
	for _, e := range entries {
		switch wait := waits[id{e.planned, e.option}]; {
		case wait && e.at.shape == below:
			e.at = &leaf{e.at.path, undivided}
		case wait:
			continue
		case e.at != nil && e.at.shape == below && (e.byChance() || len(e.parts) > 1):
			e.at = &leaf{e.at.path, single} // what was drawn at the slash is not drawn again
		}
		out = append(out, e)
	}
	return out
}

// key is the same text for the paths that are one leaf.
func (p pattern) key() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteByte('/')
		b.WriteByte('0' + byte(s.kind))
		b.WriteString(s.text)
	}
	return b.String()
}
