package skipper

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Skipper leaves it to chance which of two routes takes a request where both stand at one
// leaf of the tree of paths with one weight and the request satisfies both. weft has a rule
// for it (see compareEntries), and says where it needs one (spec/routegroup.md 7).

// contender is a route on a host, with what it weighs there.
type contender struct {
	*planned
	weight int
}

// contenders are the routes of a candidate that take part in a host; own says that a group
// of the host has a route that asks for the host alone.
func contenders(f route.Frontend, c route.Candidate, own bool) []contender {
	at := c.Payload.(reach)
	var out []contender
	for i := range c.Rules {
		if p := c.Rules[i].Payload.(*planned); p.takesPart(at, own) {
			out = append(out, contender{p, p.weightOn(at.hosted(f))})
		}
	}
	return out
}

// hosted reports whether the host counts for the weight of the routes of a group.
func (r reach) hosted(f route.Frontend) bool { return !r.copied && f.Name != api.AnyHost }

// takesPart reports whether a route is among those of a host: it may never be taken, and
// where no group of the host asks for nothing else, routes without a path of groups that
// name no hosts have no part in it, for the host answers with 404 before them.
func (p *planned) takesPart(at reach, own bool) bool {
	return !p.asks.never && (!at.copied || p.hasPath || own)
}

// before reports whether p is tried before q where both are at one leaf.
func (p *contender) before(q *contender) bool {
	return cmp.Or(cmp.Compare(q.weight, p.weight), compareTied(p.planned, q.planned)) < 0
}

// leafKeys names the leaves of a route.
func (p *planned) leafKeys() []string {
	if !p.hasPath {
		return []string{""}
	}
	var out []string
	for _, l := range p.leaves() {
		out = append(out, l.path.key())
	}
	return out
}

// closes reports whether nothing that satisfies one of its certain options gets past it.
// The segments of one draw follow each other from 0, so nothing does behind the last one.
// What a loopback takes may come back, and not to itself.
func (p *planned) closes() bool {
	loops := slices.ContainsFunc(p.parts, func(x part) bool { return x.kind == loopback })
	return !p.asks.never && !loops && (p.asks.segment == nil || p.asks.segment[1] == 1)
}

// shadows reports whether p leaves nothing to q, which is tried later at every leaf that
// it has.
func (p *contender) shadows(q *contender) bool {
	if slices.ContainsFunc(q.leafs, func(key string) bool { return !slices.Contains(p.leafs, key) }) || !p.closes() || !p.before(q) {
		return false
	}
	for _, o := range q.asks.options {
		asked := slices.Concat(q.asks.all, o.conditions)
		if !slices.ContainsFunc(p.asks.options, func(x option) bool { return x.chance == 1 && implied(slices.Concat(p.asks.all, x.conditions), asked) }) {
			return false
		}
	}
	return true
}

// ties reports whether only a rule of weft's decides between two routes of one leaf for some
// request, as far as is known.
func (p *contender) ties(q *contender) bool {
	if p.weight != q.weight {
		return false
	}
	for _, a := range p.asks.options {
		for _, b := range q.asks.options {
			if a.chance*b.chance > 0 && !slices.Concat(p.asks.all, a.conditions).Disjoint(slices.Concat(q.asks.all, b.conditions)) {
				return true
			}
		}
	}
	return false
}

// inVain are warnings of routes of a group that are never taken, or have less of a draw
// than they say.
func inVain(routes []*planned, ref api.Ref) []api.Note {
	var out []api.Note
	for _, p := range routes {
		if p.asks.never {
			continue
		}
		q := contender{p, p.weight}
		for j, other := range routes {
			x := contender{other, other.weight}
			if other == p {
				continue
			}
			if text := x.over(&q, fmt.Sprintf("spec.routes[%d]", j)); text != "" {
				out = append(out, ambiguity(ref, p, text))
				break
			}
		}
	}
	return out
}

// over says what p, which is called so, takes from q without leaving it to chance; empty
// where it takes nothing that q asks for.
func (p *contender) over(q *contender, called string) string {
	switch mine, others := q.asks.segment, p.asks.segment; {
	case p.shadows(q):
		return fmt.Sprintf("%s asks for nothing more and is tried first, so this route is never taken; write Weight(%d), or ask for more", called, max(1, p.weight-q.weight+1))
	case mine == nil || others == nil || !p.alike(q.planned) || !p.before(q) || others[1] <= mine[0]:
	case others[1] >= mine[1]:
		return fmt.Sprintf("%s takes all of these draws and is tried first, so this route is never taken; give each route a segment of its own", called)
	default:
		return fmt.Sprintf("%s takes these draws up to %v and is tried first; give each route a segment of its own", called, others[1])
	}
	return ""
}

func ambiguity(ref api.Ref, p *planned, text string) api.Note {
	return warning(ref, ambiguous, p.origin.Field, "%s", text)
}

// meet warns of routes that tie with one of another group which is tried first.
func meet(f route.Frontend, mine route.Candidate, all []route.Candidate) []api.Note {
	own := slices.ContainsFunc(all, hasHostRoute)
	ref := mine.Object.Ref
	routes := contenders(f, mine, own)
	byLeaf := map[string][]int{}
	for i := range routes {
		for _, key := range routes[i].leafs {
			byLeaf[key] = append(byLeaf[key], i)
		}
	}
	texts := make([]string, len(routes))
	for _, c := range all {
		if c.Object.Ref == ref {
			continue
		}
		for _, x := range contenders(f, c, own) {
			for _, key := range x.leafs {
				for _, i := range byLeaf[key] {
					if texts[i] == "" {
						texts[i] = x.tied(&routes[i])
					}
				}
			}
		}
	}
	var out []api.Note
	for i, text := range texts {
		if text != "" {
			out = append(out, ambiguity(ref, routes[i].planned, text))
		}
	}
	return append(out, roughShares(f, mine, all)...)
}

// fewChances is how many routes by chance never have more than maxDrawn rows.
const fewChances = 8

// roughShares warns a group of which a route by chance stands among too many of a host.
func roughShares(f route.Frontend, mine route.Candidate, all []route.Candidate) []api.Note {
	chances, first := 0, (*planned)(nil)
	for _, c := range all {
		for i := range c.Rules {
			p := c.Rules[i].Payload.(*planned)
			if !p.asks.draws() {
				continue
			}
			if chances++; first == nil && c.Object == mine.Object {
				first = p
			}
		}
	}
	if first == nil || chances <= fewChances {
		return nil
	}
	if _, rough := finished(rowsOf(f, all)); !rough {
		return nil
	}
	return []api.Note{warning(mine.Object.Ref, roughShare, first.origin.Field,
		"%d routes of the host are taken by chance, and too many combinations of their conditions can hold at once: requests of which several hold are not divided exactly as they say; write fewer, or ask for things that exclude each other", chances)}
}

// tied says that p, of another group, ties with q and is tried first; empty where it does not.
func (p *contender) tied(q *contender) string {
	switch {
	case !p.ties(q) || !p.before(q):
		return ""
	case p.shadows(q):
		return fmt.Sprintf("%s of %s ties with this route, asks for nothing more and is tried first, so this route is never taken there; write Weight(1), or ask for more", p.origin.Field, p.origin.Ref)
	}
	return fmt.Sprintf("%s of %s ties with this route and is tried first, so it has what both ask for; write Weight(1) in the route that is to have it", p.origin.Field, p.origin.Ref)
}
