package skipper

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// notFound is the answer to what no route takes.
var notFound = &route.MergedRule{Key: "none", Name: "none", Do: &route.Respond{Status: http.StatusNotFound}, NoPolicies: true}

// row is one line of the table in the making.
type row struct {
	*route.MergedRule
	at         *leaf // nil: any path
	conditions match.Conditions
	chance     float64 // in which it is taken, of those that come to it; 1 is always
	ends       float64 // of a segment of one draw: where it ends; 0 is none
	draw       draw
}

// compose lays the leaves of all groups that serve the host into the order in which
// they are tried.
func compose(f route.Frontend, candidates []route.Candidate) route.Composition {
	rows, _ := finished(rowsOf(f, candidates))
	out := route.Composition{Rows: rows}
	if !slices.ContainsFunc(out.Rows, func(r route.Row) bool { return r.Match.Everything() }) {
		out.Default = notFound
	}
	return out
}

// rowsOf are the rows of a host in the order in which they are tried, each with its own
// chance.
func rowsOf(f route.Frontend, candidates []route.Candidate) []row {
	var entries []*entry
	own := slices.ContainsFunc(candidates, hasHostRoute)
	for _, c := range candidates {
		at := c.Payload.(reach)
		for i := range c.Rules {
			p := c.Rules[i].Payload.(*planned)
			if !p.takesPart(at, own) {
				continue
			}
			entries = append(entries, p.entries(at.hosted(f))...)
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	b := &composer{host: f.Name, entries: undivide(entries), made: map[string]*route.MergedRule{}}
	var rows []row
	for _, e := range b.entries {
		rows = append(rows, b.rows(e, nil)...)
	}
	return rows
}

// hasHostRoute reports whether a group that names hosts has a route that asks for
// nothing else.
func hasHostRoute(c route.Candidate) bool {
	at := c.Payload.(reach)
	return !at.copied && slices.ContainsFunc(c.Rules, func(r route.Rule) bool { return r.Payload.(*planned).bare })
}

// composer makes the rows of one host.
type composer struct {
	host    string
	entries []*entry // in their order
	made    map[string]*route.MergedRule
}

// rows are those of one entry, for requests that came there through loops.
func (b *composer) rows(e *entry, loops []*entry) []row {
	o := e.asks.options[e.option]
	base := row{at: e.at, conditions: slices.Concat(e.asks.all, o.conditions)}
	chance := o.chance
	var out []row
	taken := 0.0
	for i := range e.parts {
		x := base
		x.chance, x.draw = chance*e.parts[i].share/(1-taken), draw{e.planned, i}
		taken += chance * e.parts[i].share
		if chance == 1 && i == len(e.parts)-1 {
			x.chance = 1
		}
		if s := e.asks.segment; s != nil { // of which chance is the share then
			x.ends = s[1]
		}
		if e.parts[i].kind == loopback && e.effects[loopback].moved == nil {
			out = append(out, b.loop(e, x, loops)...)
			continue
		}
		out = append(out, b.withChoices(e, i, x, loops)...)
	}
	return out
}

// withChoices divides a row where filters of the route act on some of its requests.
func (b *composer) withChoices(e *entry, part int, x row, loops []*entry) []row {
	out := []row{x}
	chosen := [][]bool{nil} // per row: which choices hold
	for _, choice := range e.effects[e.parts[part].kind].choices {
		var more []row
		var which [][]bool
		for n, r := range out {
			same := r
			same.conditions = append(r.conditions[:len(r.conditions):len(r.conditions)], choice.is...)
			more = append(more, same, r) // the first of both takes those of which it holds
			which = append(which, append(slices.Clone(chosen[n]), true), append(slices.Clone(chosen[n]), false))
		}
		out, chosen = more, which
	}
	for n := range out {
		out[n].MergedRule = b.composed(e, part, chosen[n], loops)
	}
	return out
}

// composed is the rule that part of a route is where some choices hold; loops are the
// loopbacks that lead to it, the first one first.
func (b *composer) composed(e *entry, part int, holds []bool, loops []*entry) *route.MergedRule {
	key := e.name()
	if len(e.parts) > 1 {
		key += fmt.Sprintf(" part %d", part)
	}
	for i, held := range holds {
		if held {
			key += " with " + e.effects[e.parts[part].kind].choices[i].name
		}
	}
	for _, l := range loops {
		key += " by " + l.name()
	}
	if c := b.made[key]; c != nil {
		return c
	}
	c := &route.MergedRule{Key: key, Name: key, Origins: []*api.Origin{e.origin}, FiltersBy: e.origin, ActionBy: e.origin}
	b.fill(c, e, part, holds, loops)
	b.made[key] = c
	return c
}

// name is the route by its group.
func (p *planned) name() string {
	if p.origin.Namespace == "" {
		return fmt.Sprintf("%s/%d", p.origin.Name, *p.origin.Rule)
	}
	return fmt.Sprintf("%s/%s/%d", p.origin.Namespace, p.origin.Name, *p.origin.Rule)
}

// fill gives a rule its action, filters and fields of policies.
func (b *composer) fill(c *route.MergedRule, e *entry, part int, holds []bool, loops []*entry) {
	x := &e.parts[part]
	last := e.effects[x.kind]
	var change *route.PathRewrite
	for _, l := range loops {
		through := l.effects[loopback]
		c.IncludedBy = append(c.IncludedBy, l.origin)
		c.Inline = append(c.Inline, through.inline...)
		change = through.rewrite(l.planned)
	}
	c.Inline = lastLog(append(c.Inline, last.inline...))
	c.Filters = b.filters(last, holds, loops)
	if own := last.rewrite(e.planned); own != nil {
		change = own
	}
	switch {
	case last.moved != nil:
		moved := *last.moved
		if moved.Path == nil {
			moved.Path = change
		}
		c.Do = &moved
		return
	case x.kind == shunt:
		c.Do = last.answer()
		return
	}
	if own := last.ownHost(x.backends); own || change != nil { // one rewrite has all
		w := route.Rewrite{}
		if host := route.LastRewrite(c.Filters); host != nil {
			w = *host
		}
		w.Path, w.BackendsHost = change, own
		c.Filters = append(c.Filters, route.Filter{Rewrite: &w})
	}
	do := &route.Forward{NoBackend: route.Respond{Status: http.StatusInternalServerError}}
	if do.Backends, do.Hash = last.balanced(x.backends); x.none {
		do.NoBackend.Status = http.StatusServiceUnavailable
	}
	c.Do = do
}

// filters are those of a route behind loopbacks: what they change in a request from the
// first loopback on, and in an answer back to it.
func (b *composer) filters(last *effect, holds []bool, loops []*entry) []route.Filter {
	var out, back []route.Filter
	add := func(e *effect, holds []bool) {
		var own []route.Filter
		for _, f := range append(e.filters(holds), b.cookies(e, holds)...) {
			if f.ResponseHeaders != nil {
				own = append(own, f)
			} else {
				out = append(out, f)
			}
		}
		back = append(own, back...)
	}
	for _, l := range loops {
		add(l.effects[loopback], nil)
	}
	add(last, holds)
	return append(out, back...)
}

func (b *composer) cookies(e *effect, holds []bool) []route.Filter {
	var out []route.Filter
	for i := range e.cookies {
		if in := e.cookies[i].in; in == 0 || in > len(holds) || !holds[in-1] {
			out = append(out, e.cookies[i].filter(b.host))
		}
	}
	return out
}
