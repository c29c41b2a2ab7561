package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// selecting yields the dataplanes that the selector selects, in no order. It looks
// at those alone that carry what the selector wants.
func (m *mesh) selecting(s *matcher.Selector) iter.Seq[*planed] {
	return func(yield func(*planed) bool) {
		wants, possible := s.Wants()
		if !possible {
			return
		}
		names := wantedNames(wants)
		if len(names) == 0 {
			for p := range m.everyPlane() {
				if s.Selects(&p.plane.facts) && !yield(p) {
					return
				}
			}
			return
		}
		for n := range m.roster.carrying(names).all() {
			if p, ok := m.planes.Get([]byte(m.roster.keys[n])); ok && (!m.visit() || s.Selects(&p.plane.facts) && !yield(p)) {
				return
			}
		}
	}
}

// wantedNames are the names under which the roster has what is wanted.
func wantedNames(w matcher.Wants) []string {
	var out []string
	if w.Name != "" {
		out = append(out, pair(ownName, w.Name))
	}
	for _, n := range w.Namespaces {
		out = append(out, pair(ownNamespace, n))
	}
	if w.Gateway {
		out = append(out, pair(ownType, gateway))
	}
	for k, v := range w.Labels {
		out = append(out, pair(k, v))
	}
	for k, v := range w.Tags {
		out = append(out, pair(k, v))
	}
	return out
}

// carrying are the numbers of those who carry all the names.
func (r roster) carrying(names []string) numbers {
	out := r.numbers(carries, names[0])
	for _, name := range names[1:] {
		out = out.and(r.numbers(carries, name))
	}
	return out
}

// everyPlane yields the dataplanes in the order of their keys.
func (m *mesh) everyPlane() iter.Seq[*planed] {
	return func(yield func(*planed) bool) {
		it := m.planes.Root().Iterator()
		for _, p, ok := it.Next(); ok; _, p, ok = it.Next() {
			if !m.visit() || !yield(p) {
				return
			}
		}
	}
}

// calling yields the dataplanes that may call or send to a service of a name, in no
// order; those that reach every destination come last.
func (m *mesh) calling(name string) iter.Seq[*planed] {
	return func(yield func(*planed) bool) {
		for _, name := range []string{name, anyTarget} {
			for n := range m.roster.numbers(callsIt, name).all() {
				if p, ok := m.planes.Get([]byte(m.roster.keys[n])); ok && (!m.visit() || !yield(p)) {
					return
				}
			}
		}
	}
}

// hasRules reports whether a dataplane that the selector selects has a rule of the
// route; section, if given, names the rule.
func (m *mesh) hasRules(r *routeObject, section string, by *matcher.Selector) bool {
	for i := range r.opinion.Entries {
		for d := range m.destsNamed(targetName(r.opinion.Entries[i].To)) {
			for _, name := range d.names() {
				for p := range m.calling(name) {
					if by.Selects(&p.plane.facts) && p.resolved.hasRule(d.Destination, r, section) {
						return true
					}
				}
			}
		}
	}
	return false
}

func (x *Resolved) hasRule(d *Destination, r *routeObject, section string) bool {
	return slices.ContainsFunc(x.Outbounds, func(o *Outbound) bool {
		return o.Destination == d && o.Table != nil && o.Table.has(r, section)
	})
}

// has reports whether a rule of the route, or the one that section names, is in
// the table.
func (t *Table) has(r *routeObject, section string) bool {
	return slices.ContainsFunc(t.Routes, func(rt *Route) bool {
		return slices.ContainsFunc(rt.Origins, func(o *api.Origin) bool {
			return o.Ref == r.object.Ref && (section == "" || slices.Contains(r.sections(o), section))
		})
	})
}

// selects reports whether one of the selectors selects any dataplane.
func (m *mesh) selects(selectors ...*matcher.Selector) bool {
	return slices.ContainsFunc(selectors, func(s *matcher.Selector) bool {
		for range m.selecting(s) {
			return true
		}
		return false
	})
}
