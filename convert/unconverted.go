package convert

import (
	"net/http"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// left is a line that is in no document.
type left struct {
	route.Line
	reason
}

// reason is why a line cannot be said.
type reason struct{ code, message string }

// lose leaves lines out, and those that would open what they keep closed.
func (w *work) lose(lost map[int]reason) bool {
	var kept []route.Line
	for i, l := range w.lines {
		why, gone := lost[i]
		last := w.ended && i == len(w.lines)-1
		switch {
		case gone && last && w.refused:
			w.say(-1, api.Error, route.UnsaidPlace, "%s: what no rule takes cannot be refused: %s; nothing is written for it", w.where(), why.message)
			w.printed, w.found = nil, nil
			return false
		case gone && last:
			w.refuse(why.message)
			kept = append(kept, w.lines[i])
		case gone && w.refuses(&l, why.code):
			w.closed = append(w.closed, left{w.lines[i], why})
			l.MergedRule = w.instead[l.MergedRule]
			kept = append(kept, l)
		case gone:
			w.left = append(w.left, w.reopened(l, why))
		default:
			kept = append(kept, l)
		}
	}
	w.lines = kept
	w.shut()
	return true
}

// reopened is a line that is left out: one that answered with an error instead does not do
// that either, and both reasons hold.
func (w *work) reopened(l route.Line, why reason) left {
	i := slices.IndexFunc(w.closed, func(x left) bool {
		return w.instead[x.MergedRule] == l.MergedRule && slices.EqualFunc(x.Conditions, l.Conditions, match.Condition.Equal)
	})
	if i < 0 {
		return left{l, why}
	}
	was := w.closed[i]
	w.closed = slices.Delete(w.closed, i, i+1)
	l.MergedRule = was.MergedRule
	return left{l, reason{why.code, was.message + "; " + why.message}}
}

// refuses reports whether a line that cannot be said keeps its place, with an error for an
// answer: one that keeps requests from backends, whose requests would come to others.
func (w *work) refuses(l *route.Line, code string) bool {
	if !guards(l.MergedRule) || code != route.UnsaidFilter && code != route.UnsaidAction || slices.ContainsFunc(w.closed, func(x left) bool { return w.instead[x.MergedRule] == l.MergedRule }) {
		return false
	}
	if w.instead == nil {
		w.instead = map[*route.MergedRule]*route.MergedRule{}
	}
	if w.instead[l.MergedRule] == nil {
		c := *l.MergedRule
		c.Do, c.Filters, c.Inline = &route.Respond{Status: http.StatusInternalServerError}, nil, nil
		w.instead[l.MergedRule] = &c
	}
	return true
}

// shut leaves out what would take requests that a rule which is left out refuses, or lets
// an authorization service or a limit decide about.
func (w *work) shut() {
	for _, x := range w.left {
		if !guards(x.MergedRule) {
			continue
		}
		w.lines = slices.DeleteFunc(w.lines, func(l route.Line) bool {
			behind := w.behind(&x.Line, &l) && !l.NoPolicies && !guards(l.MergedRule) && !x.Disjoint(l.Conditions)
			if behind {
				w.left = append(w.left, left{l, reason{"Guarded", "without " + short(&x.Line) + ", which is left out, it would take requests that do not come to a backend now"}})
			}
			return behind
		})
	}
}

// behind reports whether l is tried after x in the source.
func (w *work) behind(x, l *route.Line) bool {
	at := func(y *route.Line) int {
		return slices.IndexFunc(w.source.all, func(z route.Line) bool {
			return (z.MergedRule == y.MergedRule || w.instead[z.MergedRule] == y.MergedRule) && slices.EqualFunc(z.Conditions, y.Conditions, match.Condition.Equal)
		})
	}
	return at(l) > at(x)
}

// refuse answers what no rule takes with an error.
func (w *work) refuse(why string) {
	w.refused = true
	w.lines[len(w.lines)-1].MergedRule = &route.MergedRule{Do: &route.Respond{Status: http.StatusInternalServerError}, NoPolicies: true}
	if w.unmatched != nil {
		w.say(-1, api.Warning, "UnmatchedDiffers", "%s: what no rule takes is answered with %d: %s", w.where(), http.StatusInternalServerError, why)
	}
}

// close sees to what no rule takes: it is done there what was done, or it is refused.
func (w *work) close(to api.TargetRef) bool {
	if w.ended || slices.ContainsFunc(w.lines, func(l route.Line) bool { return l.Everything() }) {
		return false
	}
	there := w.found.unmatched
	if there != nil {
		there = named(there, to, map[*route.MergedRule]*route.MergedRule{})
	}
	end := w.unmatched
	port, on := w.frontend.Port, match.CatchAll.Path()
	switch {
	case w.fenced || w.found.beyond || there == nil:
	case end != nil && effect(end, on, on, port) == effect(there, on, on, port):
		return false
	case end == nil && guards(there):
		return false
	}
	w.ended = true
	moved := slices.ContainsFunc(w.lines, func(l route.Line) bool { return l.Expression })
	if end == nil {
		end = &route.MergedRule{NoPolicies: true}
	}
	w.lines = append(w.lines, route.Line{Match: match.CatchAll, MergedRule: end, Expression: moved})
	if w.unmatched == nil {
		w.refuse("")
	}
	return true
}

// fence looks at the place again beside all that is written. Where rules of other
// documents, for wider hosts, would take requests that none of its own takes, what no rule
// takes is written too.
func (w *work) fence(all *said) {
	bare := !w.printable() || len(w.printed.Objects) == 0
	open := bare && slices.ContainsFunc(w.To, w.underWider)
	if !w.printable() {
		w.lines, w.ended, w.refused = nil, false, false
	}
	w.founds = nil
	for _, to := range w.places() {
		if open || !w.printable() {
			break
		}
		w.look(to, all)
		open = w.found.takes != nil || w.close(to)
	}
	if !open {
		return
	}
	w.withdraw()
	w.fenced = true
	if w.write(); !bare {
		return
	}
	if w.printable() {
		w.say(-1, api.Error, route.UnsaidPlace, "%s: none of its rules is written, and what is written for wider hosts takes none of its requests", w.where())
	} else {
		w.say(-1, api.Error, route.UnsaidPlace, "%s: nothing is written, and its requests come to what is written for wider hosts", w.where())
	}
}

// underWider reports whether something is written for a wider host.
func (w *work) underWider(to api.TargetRef) bool {
	for _, x := range w.taken {
		for _, wide := range x.To {
			if len(x.printed.Objects) > 0 && wide.Kind == api.KindHost && wide.Name != to.Name && api.HostCovers(wide.Name, to.Name) {
				return true
			}
		}
	}
	return false
}
