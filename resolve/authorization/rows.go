package authorization

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// frontendOf is nil where no rule has a policy about who may call.
func (m Mesh) frontendOf(id string) *DestinationRules {
	d, said := index.Need(m.Destinations, m.At, id), index.Need(m.Subjects, m.At, id)
	if d == nil || said == nil {
		return nil
	}
	everybody := make([]byte, len(said.Contributions))
	for i, x := range said.Contributions {
		everybody[i] = routing.Bit(x.Selector().Everyone(m.ZoneLabels[api.LabelZone]))
	}
	f := &DestinationRules{Rows: m.rowsOf(d, said, m.Compose(d, said.Contributions, string(everybody)))}
	for i := range said.Contributions {
		if everybody[i] == '0' {
			f.Rows = append(m.rowsAlone(d, said, everybody, i, f.Rows), f.Rows...)
		}
	}
	if !slices.ContainsFunc(f.Rows, func(r *Row) bool { return len(r.attached) > 0 }) {
		return nil
	}
	return f
}

// rowsAlone are rows with policies of the tables of those clients who have the i-th contribution
// beside what everybody has. The server cannot know who they are: nobody gets in by a rule of that
// contribution, and what they send by a rule that all have arrives by all ways at once.
func (m Mesh) rowsAlone(d *services.Destination, said *routing.Subjects, everybody []byte, i int, all []*Row) []*Row {
	alone := slices.Clone(everybody)
	for n := range alone {
		alone[n] = routing.Bit(n == i)
	}
	const why = "some clients alone have the route, and the server cannot know who has it"
	out := closedRows(m.rowsOf(d, said, m.Compose(d, said.Contributions, string(alone))), why)
	own := said.Contributions[i]
	if own.Entry.Callers != "" || slices.ContainsFunc(said.Contributions, func(x *index.Contribution) bool {
		return x.Route.Object.HomeNamespace() != own.Route.Object.HomeNamespace()
	}) { // it hides what all have; or a namespace would change what is asked in another one (I12)
		return out
	}
	alone = slices.Clone(everybody)
	alone[i] = '1'
	for _, r := range closedRows(m.rowsOf(d, said, m.Compose(d, said.Contributions, string(alone))), "") {
		if !slices.ContainsFunc(all, func(o *Row) bool { return r.equal(o) }) {
			other := *r
			other.apart = true
			if !slices.ContainsFunc(out, func(o *Row) bool { return o.match.Implies(r.match.Conditions) && derive.Same(o.to, r.to) }) {
				out = append(out, &other)
			}
		}
	}
	return out
}

// closedRows are rows with policies by which nobody gets in; without a reason those rows as they are.
func closedRows(rows []*Row, why string) []*Row {
	var out []*Row
	for _, r := range rows {
		if len(r.attached) > 0 {
			closed := *r
			closed.Closed, closed.apart = cmp.Or(why, r.Closed), why != ""
			out = append(out, &closed)
		}
	}
	return out
}

// rowsOf are the rows that forward, as their requests arrive. One with policies of which that cannot
// be said is closed.
func (m Mesh) rowsOf(d *services.Destination, said *routing.Subjects, all *routing.Composition) []*Row {
	var out []*Row
	for i := range all.Rows {
		row := &all.Rows[i]
		r := &Row{rules: row.Origins}
		var backends [][]route.Filter
		switch do := row.Do.(type) {
		case *route.Forward:
			for k := range do.Backends {
				backends = append(backends, do.Backends[k].Filters)
				r.to = m.withTarget(r.to, &do.Backends[k])
			}
		case route.Passthrough:
			r.to = append(r.to, target{id: d.Key})
		default:
			continue // the proxy of the client answers
		}
		var why string
		if r.match.Conditions, why = route.AfterRewrite(row.Match.Conditions, row.Filters, backends...); why != "" {
			r.Closed = fmt.Sprintf("what arrives by %s cannot be told: %s", ruleText(row.MergedRule), why)
		}
		r.changed = route.ChangedBy(row.Match.Conditions, row.Filters, backends...)
		r.plain = why == "" && slices.EqualFunc(r.match.Conditions, row.Match.Conditions, match.Condition.Equal)
		r.attached = m.attachmentsOf(row.MergedRule, said, all.From)
		if out = append(out, r); slices.ContainsFunc(row.Filters, func(f route.Filter) bool { return f.Mirror != nil }) {
			out = m.copiesOf(out, row.Filters)
		}
	}
	return out
}

// copiesOf adds what the last of rows sends to mirrors. The host of copies has another end, so that
// where a rule asks for it they are a row of their own, which does not.
func (m Mesh) copiesOf(rows []*Row, filters []route.Filter) []*Row {
	of := rows[len(rows)-1]
	copies := *of
	copies.changed = of.changed.Mirrored()
	copies.match.Conditions = slices.DeleteFunc(slices.Clone(of.match.Conditions), func(c match.Condition) bool { return c.On == match.OnAuthority })
	own := len(copies.match.Conditions) < len(of.match.Conditions)
	if own {
		copies.to, copies.plain = nil, false
	}
	for i := range filters {
		if filters[i].Mirror != nil {
			copies.to = m.withTarget(copies.to, &filters[i].Mirror.Backend)
		}
	}
	if own {
		return append(rows, &copies)
	}
	rows[len(rows)-1] = &copies
	return rows
}

func ruleText(c *route.MergedRule) string {
	if len(c.Origins) == 0 {
		return "a rule"
	}
	return c.Origins[len(c.Origins)-1].String()
}

// withTarget adds what a backend leads to, if it leads anywhere.
func (m Mesh) withTarget(list []target, ref *route.BackendRef) []target {
	d, lost := m.FindBackend(*ref)
	if lost != nil {
		return list
	}
	x := target{d.Key, ref.Target.Tags}
	if slices.ContainsFunc(list, func(o target) bool { return derive.Same(o, x) }) {
		return list
	}
	return append(list, x)
}

// attachmentsOf are the policies that are attached to a rule, to its routes, and to the objects that
// include it.
func (m Mesh) attachmentsOf(c *route.MergedRule, said *routing.Subjects, from []*index.Contribution) []attachment {
	var out []attachment
	for layer, by := range said.Standing(c, from) {
		on, _ := m.RoutePolicies.Get(m.At, index.ObjectKey(by.Route.Object.Ref))
		if on == nil {
			continue
		}
		for _, p := range on.policies {
			section := p.TopRoute.SectionName
			if (section != "") != (layer == merge.Rule) || section != "" && !slices.Contains(routing.SectionsOf(c, by.Route), section) {
				continue
			}
			if x := (attachment{layer, p}); !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	slices.SortFunc(out, func(a, b attachment) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), a.policy.Object.Ref.Compare(b.policy.Object.Ref))
	})
	return out
}

func sortedKeys(of map[string]bool) []string { return slices.Sorted(maps.Keys(of)) }
