package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/route"
)

// judgedFrontendOf is nil for what nobody may be told apart at.
func (m mesh) judgedFrontendOf(id string) *judgedFrontend {
	d, said := need(m.dests, m.at, id), need(m.subjects, m.at, id)
	if d == nil || said == nil {
		return nil
	}
	everybody := make([]byte, len(said.contributions))
	for i, x := range said.contributions {
		everybody[i] = digit(x.selector().Everyone(m.zone[api.LabelZone]))
	}
	f := &judgedFrontend{rows: m.judgedRows(d, said, m.compose(d, said.contributions, string(everybody)))}
	for _, row := range f.rows {
		if row.closed != "" {
			f.unsaid = cmp.Or(f.unsaid, row.closed)
		}
	}
	if f.unsaid != "" { // then the order of its rules is not known to the server
		f.rows = closedRows(f.rows, f.unsaid)
	}
	for i := range said.contributions {
		if everybody[i] == '1' {
			continue
		}
		// Some clients alone have it, and the server cannot know which.
		alone := make([]byte, len(said.contributions))
		for n := range alone {
			alone[n] = digit(n == i)
		}
		const why = "some clients alone have the route, and the server cannot know who has it"
		if closed := closedRows(m.judgedRows(d, said, m.compose(d, said.contributions, string(alone))), why); len(closed) > 0 {
			f.rows, f.unsaid = append(closed, f.rows...), cmp.Or(f.unsaid, why)
		}
	}
	if len(f.rows) == 0 {
		return nil
	}
	f.date()
	return f
}

// date takes note of when the oldest of the policies was made.
func (f *judgedFrontend) date() {
	f.oldest = 0
	for _, row := range f.rows {
		for _, by := range row.attached {
			if made := by.policy.object.Created.UnixNano(); f.oldest == 0 || made < f.oldest {
				f.oldest = made
			}
		}
	}
}

// at is what of f counts at a dataplane; nil for nothing. A policy of a namespace says nothing about
// who may call workloads of another one, be it attached to a route that leads there: it neither
// opens nor closes them (spec/identity.md 7, I12).
func (f *judgedFrontend) at(plane *dataplane) *judgedFrontend {
	foreign := func(by judgedBy) bool { return !by.policy.judgesAt(plane) }
	if !slices.ContainsFunc(f.rows, func(r *judgedRow) bool { return slices.ContainsFunc(r.attached, foreign) }) {
		return f
	}
	out, last := &judgedFrontend{unsaid: f.unsaid}, 0
	for _, r := range f.rows {
		own := *r
		own.attached = slices.DeleteFunc(slices.Clone(r.attached), foreign)
		switch {
		case len(own.attached) > 0:
			out.rows = append(out.rows, &own)
			last = len(out.rows)
		case r.closed == "" || len(r.attached) == 0: // the others tell requests of it apart
			out.rows = append(out.rows, &own)
		}
	}
	if out.rows = out.rows[:last]; last == 0 {
		return nil
	}
	out.date()
	return out
}

// judgesAt reports whether a policy about who may call has a say at a dataplane to which a route leads.
func (p *policy) judgesAt(plane *dataplane) bool {
	home := p.object.Home()
	return home.System || plane.object.HomeNamespace() == home.Namespace
}

// closedRows are rows with policies by which nobody gets in.
func closedRows(rows []*judgedRow, why string) []*judgedRow {
	var out []*judgedRow
	for _, r := range rows {
		if len(r.attached) > 0 {
			closed := *r
			closed.closed = why
			out = append(out, &closed)
		}
	}
	return out
}

// judgedRows are the rows that forward, down to the last to which a policy is attached, as their
// requests arrive. One of which that cannot be said is closed.
func (m mesh) judgedRows(d *dest, said *subjects, all *composition) []*judgedRow {
	var out []*judgedRow
	last := 0
	for i := range all.Rows {
		row := &all.Rows[i]
		r := &judgedRow{rules: row.Origins}
		var backends [][]route.Filter
		switch do := row.Do.(type) {
		case *route.Forward:
			for k := range do.Backends {
				backends = append(backends, do.Backends[k].Filters)
				r.to = m.judgedTarget(r.to, &do.Backends[k])
			}
		case route.Itself:
			r.to = append(r.to, judgedTarget{id: d.key})
		default:
			continue // the proxy of the client answers
		}
		for _, f := range row.Filters {
			if f.Mirror != nil {
				r.to = m.judgedTarget(r.to, &f.Mirror.Backend)
			}
		}
		var why string
		if r.match.Conditions, why = row.Match.Arriving(row.Filters, backends...); why != "" {
			r.closed = fmt.Sprintf("what arrives by %s cannot be told: %s", ruleText(row.Composed), why)
		}
		r.attached = m.judgedBy(row.Composed, said, all.from)
		if out = append(out, r); len(r.attached) > 0 {
			last = len(out)
		} else {
			r.to = nil
		}
	}
	return out[:last]
}

func ruleText(c *route.Composed) string {
	if len(c.Origins) == 0 {
		return "a rule"
	}
	return c.Origins[len(c.Origins)-1].String()
}

// judgedTarget adds what a backend leads to, if it leads anywhere.
func (m mesh) judgedTarget(list []judgedTarget, ref *route.BackendRef) []judgedTarget {
	d, lost := m.findBackend(*ref)
	if lost != nil {
		return list
	}
	x := judgedTarget{d.key, ref.Target.Tags}
	if slices.ContainsFunc(list, func(o judgedTarget) bool { return same(o, x) }) {
		return list
	}
	return append(list, x)
}

// judgedBy are the policies that are attached to a rule, to its routes, and to the objects that
// include it.
func (m mesh) judgedBy(c *route.Composed, said *subjects, from []*contribution) []judgedBy {
	if c.Bare {
		return nil
	}
	var out []judgedBy
	add := func(layer merge.LayerName, p *policy) {
		if by := (judgedBy{layer, p}); !slices.Contains(out, by) {
			out = append(out, by)
		}
	}
	on := func(r *routeObject) []*policy {
		if j, _ := m.judgedRoutes.Get(m.at, objectKey(r.object.Ref)); j != nil {
			return j.policies
		}
		return nil
	}
	for _, o := range c.Via {
		if x := said.speaker(o.Ref); x != nil {
			for _, p := range on(x) {
				if p.topRoute.SectionName == "" {
					add(merge.Include, p)
				}
			}
		}
	}
	for _, x := range said.contributors(c, from) {
		for _, p := range on(x.route) {
			section := p.topRoute.SectionName
			switch {
			case section == "":
				add(merge.Route, p)
			case slices.ContainsFunc(c.Origins, func(o *api.Origin) bool {
				return o.Ref == x.route.object.Ref && slices.Contains(x.route.sections(o), section)
			}):
				add(merge.Rule, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b judgedBy) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), a.policy.object.Ref.Compare(b.policy.object.Ref))
	})
	return out
}

func sortedKeys(of map[string]bool) []string { return slices.Sorted(maps.Keys(of)) }
