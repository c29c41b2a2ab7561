package skipper

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// rewrite is what becomes of the path of p, nil where nothing does. A modPath of text
// with which the path of the route begins replaces that begin alone, and leaves no
// two slashes in a row (spec/routegroup.md 6).
func (e *effect) rewrite(p *planned) *route.PathRewrite {
	switch text, literal := p.path.text(); {
	case e.path == nil:
		return nil
	case e.path.full != nil:
		return &route.PathRewrite{Full: e.path.full}
	case p.hasPath && literal && e.path.from != "" && strings.HasPrefix(text, e.path.from):
		from, tail, with := e.path.from, "", e.path.with
		if with == "" || strings.HasSuffix(with, "/") {
			from, tail, with = strings.TrimSuffix(from, "/"), "/?", strings.TrimSuffix(with, "/")+"/"
		}
		return &route.PathRewrite{Each: &route.Replacement{Expression: "^" + regexp.QuoteMeta(from) + tail, With: with}}
	}
	return &route.PathRewrite{Each: &route.Replacement{Expression: e.path.expression, With: e.path.with}}
}

// nowhere is the answer to a request that a loopback leads to no route.
func nowhere(l *entry) *route.MergedRule {
	name := l.name() + " leads nowhere"
	return &route.MergedRule{Key: name, Name: name, Do: &route.Respond{Status: http.StatusNotFound}, NoPolicies: true, IncludedBy: []*api.Origin{l.origin}}
}

// loop is what the loopback l comes to: the rows of its own group to which the changed
// request would come, for the requests that x takes. What comes through l does not
// come to it again.
func (b *composer) loop(l *entry, x row, before []*entry) []row {
	loops := append(before[:len(before):len(before)], l)
	var out []row
	for _, e := range b.entries {
		again := slices.ContainsFunc(loops, func(x *entry) bool { return x.planned == e.planned })
		if again || e.origin.Ref != l.origin.Ref {
			continue
		}
		for _, r := range b.rows(e, loops) {
			for _, at := range l.backwards(r.at) {
				r.at, r.conditions = at, slices.Concat(x.conditions, r.conditions)
				out = append(out, r)
			}
		}
	}
	if slices.ContainsFunc(out, func(r row) bool { return r.at == l.at && r.chance == 1 && len(r.conditions) == len(x.conditions) }) {
		return out // it takes all
	}
	x.MergedRule = nowhere(l)
	return append(out, x)
}

// backwards is where requests have to be so that they are at l, and after its change
// at there: nowhere, at one leaf, or at two.
func (l *entry) backwards(there *leaf) []*leaf {
	change := l.effects[loopback].path
	switch {
	case there == nil:
		return []*leaf{l.at}
	case change.full != nil:
		return l.at.ifHolds(there, *change.full)
	case l.at.shape == single || l.at.shape == slashed: // one path
		from, _ := l.at.path.text()
		to := strings.TrimSuffix(change.with, "/") + strings.TrimPrefix(from, change.from)
		if to == "" {
			to = "/"
		}
		return l.at.ifHolds(there, to)
	}
	to, err := parsePattern("/"+strings.Trim(change.with, "/"), true)
	if err != nil {
		panic(err) // checkLoopbacks has looked at it
	}
	var out []*leaf
	for _, at := range there.moved(to, l.path, l.at) {
		if own := len(at.path) <= len(l.path); l.at.shape == undivided || !own && (at.shape != single || at.path[len(l.path)].text != "" || at.path[len(l.path)].kind != literal) {
			out = append(out, at)
		}
	}
	return out
}

// ifHolds is l where the path is at there.
func (l *leaf) ifHolds(there *leaf, path string) []*leaf {
	if c := there.condition(); c.Holds(&match.Request{Path: path}) {
		return []*leaf{l}
	}
	return nil
}

// moved is the leaf l, which counts below the path from, below the path to instead:
// all of whole, where l takes everything below from.
func (l *leaf) moved(from, to pattern, whole *leaf) []*leaf {
	n, most := len(l.path), len(l.path)
	if n > 0 && l.path[n-1].kind == rest {
		most-- // segments that are fixed
	}
	if !l.path[:min(most, len(from))].takes(from) {
		return nil
	}
	covers := l.path.endsIn(rest) && (most < len(from) || most == len(from) && l.shape == undivided)
	switch {
	case covers:
		return []*leaf{whole}
	case most < len(from):
		return nil
	case len(from) == 0 && n == 1 && l.path[0] == segment{}: // the path / comes of both
		return []*leaf{{to, single}, {to.with(segment{}), slashed}}
	}
	return []*leaf{{slices.Concat(to, l.path[len(from):]), l.shape}}
}

// takes reports whether the literal path has segments as p wants them.
func (p pattern) takes(path pattern) bool {
	for i := range p {
		if p[i].kind == literal && p[i].text != path[i].text {
			return false
		}
	}
	return true
}

func (p pattern) endsIn(k segmentKind) bool { return len(p) > 0 && p[len(p)-1].kind == k }
