package convert

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// finish says what is otherwise than before.
func (w *work) finish() {
	if !w.printable() {
		return
	}
	for _, u := range w.printed.Unsaid {
		severity := u.Severity
		if u.Code == route.UnsaidPart { // which is left out, though the line is there
			severity = api.Error
		}
		w.say(u.Line, severity, u.Code, "%s", u.Message)
	}
	w.tellLeft()
	w.tellDifferences()
	w.tellBuckets()
	w.attach()
}

// tellLeft says for each rule that is left out why, and who takes its requests now.
func (w *work) tellLeft() {
	for _, x := range w.closed {
		w.note(w.whose(x.MergedRule), api.Error, x.code, w.whose(x.MergedRule).Field, "%s, so its requests are answered with %d instead: others would open what it keeps closed", x.message, http.StatusInternalServerError)
	}
	for _, x := range w.left {
		what := "the rule is"
		if w.several(x.MergedRule) {
			what = "its match " + x.Short() + " is"
		}
		o := w.whose(x.MergedRule)
		w.note(o, api.Error, x.code, o.Field, "%s, so %s left out: its requests come to %s", x.message, what, w.next(&x.Line))
	}
}

// whose is who says a rule, or who has the table.
func (w *work) whose(c *route.MergedRule) *api.Origin {
	if o := originOf(c); o != nil {
		return o
	}
	return &api.Origin{Ref: w.by[0].Ref}
}

// several reports whether a rule has more than one match.
func (w *work) several(c *route.MergedRule) bool {
	n := 0
	for i := range w.all {
		if w.all[i].MergedRule == c {
			n++
		}
	}
	return n > 1
}

// next is who takes the requests of a line that is left out.
func (w *work) next(x *route.Line) string {
	var names []string
	for _, i := range w.tried(len(w.lines)) {
		l := &w.lines[i]
		last := w.ended && i == len(w.lines)-1
		if !last && !w.behind(x, l) || x.Disjoint(l.Conditions) {
			continue
		}
		name := w.called(i)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if l.Conditions.Implies(x.Conditions) && !w.printed.Partly(i) {
			return strings.Join(names, ", ")
		} else if len(names) == 3 {
			return strings.Join(append(names, "others"), ", ")
		}
	}
	return strings.Join(append(names, "no rule"), ", ")
}

// called is how messages name the line in use at an index.
func (w *work) called(i int) string {
	switch last := w.ended && i == len(w.lines)-1; {
	case last && w.refused:
		return "an answer of 500"
	case last:
		return "what no rule takes"
	}
	return short(&w.lines[i])
}

// tellDifferences says what the languages have otherwise as a whole.
func (w *work) tellDifferences() {
	upgrades, bare := false, false
	for back, lines := range w.back() {
		for _, l := range lines {
			line := &w.lines[l]
			bare = bare || line.NoPolicies && !back.NoPolicies
			do, forwards := line.Do.(*route.Forward)
			if !forwards || len(do.Backends) == 0 {
				continue
			}
			upgrades = upgrades || line.Upgrade == route.UpgradeOff && back.Upgrade != route.UpgradeOff
			if was, is := balancing(line.MergedRule), balancing(back); was != is {
				w.say(l, api.Warning, "BalancingNotExpressible", "endpoints are chosen by %s, which %s does not say; they are chosen by turns", was, w.Kind)
			}
			if was := inHTTP2(line.MergedRule); was != inHTTP2(back) {
				w.say(l, api.Warning, "ProtocolNotExpressible", "the rule asks %s in HTTP/2, which %s cannot say: it is asked in the protocol of its port, so write http2 there", was, w.noun())
			}
			if there, ok := back.Do.(*route.Forward); ok && broken(do) != broken(there) {
				w.note(&api.Origin{Ref: w.by[0].Ref}, api.Info, "MissingBackend", "", "a missing backend is treated differently: now %s; before, %s", broken(there), broken(do))
			}
		}
	}
	if bare && slices.ContainsFunc(w.objects, func(o *api.Object) bool { typ, ok := w.Catalog.Find(o.Kind); return ok && typ.Policy && !typ.Route }) {
		w.note(&api.Origin{Ref: w.by[0].Ref}, api.Info, "PoliciesAct", "", "what the source answers where no rule takes a request, or one is wrong, is a rule of %s: a policy for the whole mesh, as a MeshRateLimit, acts on it now", w.noun())
	}
	if w.moved {
		w.note(&api.Origin{Ref: w.by[0].Ref}, api.Warning, "PlaceDiffers", "", "sidecars treat requests for a service and for a host differently: for a host they compare the path as it is sent (/a/../b), and read every method; for a service they resolve such a path first, and answer 400 to a method that HTTP does not know")
	}
	if upgrades {
		w.note(&api.Origin{Ref: w.by[0].Ref}, api.Warning, "WebSockets", "", "every rule of %s accepts WebSockets; in the source only those that enabled them did", w.noun())
	}
}

// tellBuckets says where what was one limit is one of several rules now, of which each counts
// by itself.
func (w *work) tellBuckets() {
	for _, f := range w.founds {
		rules := map[route.RuleRef][]*route.MergedRule{} // by who says the limit
		for n, lines := range f.of {
			for _, l := range lines {
				for _, in := range w.lines[l].Inline {
					if limit, ok := in.Policy.(*route.RateLimit); !ok || limit.Rate == nil || in.Origin == nil {
						continue
					}
					key := route.RuleRefOf(in.Origin)
					if c := f.rows[n].MergedRule; !slices.Contains(rules[key], c) {
						rules[key] = append(rules[key], c)
					}
					if len(rules[key]) > 1 {
						w.say(l, api.Warning, "SeveralBuckets", "the limit of the rule is at several rules of %s now, and each counts by itself: requests of all of them get as many times as much", w.noun())
					}
				}
			}
		}
	}
}

// back are the rules that came back, at every place, with the lines behind them.
func (w *work) back() iter.Seq2[*route.MergedRule, []int] {
	return func(yield func(*route.MergedRule, []int) bool) {
		for _, f := range w.founds {
			for n, lines := range f.of {
				if !yield(f.rows[n].MergedRule, lines) {
					return
				}
			}
		}
	}
}

// broken says what becomes of the share of a backend that is not there.
func broken(do *route.Forward) string {
	status := do.Backends[0].Broken
	if status == 0 {
		return fmt.Sprintf("the others have its share, and without any it is answered with %d", do.NoBackend.Status)
	}
	return fmt.Sprintf("its share is answered with %d", status)
}
