package resolve

import (
	"cmp"
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
)

// selecting yields the dataplanes that the selector selects, in the order of their
// keys. Of what the selector wants it takes what the fewest carry, and looks at
// those alone.
func (m indexMesh) selecting(s *matcher.Selector) iter.Seq[*dataplane] {
	return func(yield func(*dataplane) bool) {
		wants, possible := s.Wants()
		if !possible {
			return
		}
		among := m.dataplanes.All(m.at)
		if names := wantedNames(wants); len(names) > 0 {
			among = m.dataplanesByLabel.In(m.at, slices.MinFunc(names, func(a, b string) int {
				return cmp.Compare(m.dataplanesByLabel.Len(m.at, a), m.dataplanesByLabel.Len(m.at, b))
			}))
		}
		for _, p := range among {
			if s.Selects(&p.facts) && !yield(p) {
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

// classesOf yields the classes of dataplanes that call a destination, by key.
func (m reachabilityMesh) classesOf(d *dest) iter.Seq[string] {
	prefix := classKey(d.key, "")
	own := m.byClass.Buckets(m.at, prefix)
	if d.Kind != api.KindHost {
		return own
	}
	all := slices.AppendSeq(slices.Collect(own), m.groupsByClass.Buckets(m.at, prefix))
	slices.Sort(all)
	return slices.Values(slices.Compact(all))
}

// planesOf yields the keys of the dataplanes of a class, in no order; one may come twice.
func (m reachabilityMesh) planesOf(class string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range m.byClass.Keys(m.at, class) {
			if !yield(key) {
				return
			}
		}
		for group := range m.groupsByClass.Keys(m.at, class) {
			for key := range m.byGroup.Keys(m.at, group) {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// hasRules reports whether a dataplane that the selector selects has a rule of the
// route; section, if given, names the rule.
func (m tablesMesh) hasRules(r *routeObject, section string, by *matcher.Selector) bool {
	for i := range r.opinion.Entries {
		for d := range m.destsNamed(targetName(r.opinion.Entries[i].To)) {
			for key := range m.classesOf(d) {
				if t, _ := m.routed.Get(m.at, key); t == nil || t.table == nil || !r.inTable(t.table, section) {
					continue
				}
				for of := range m.planesOf(key) {
					if p, _ := m.dataplanes.Get(m.at, of); by.Selects(&p.facts) {
						return true
					}
				}
			}
		}
	}
	return false
}

// inTable reports whether a rule of the route, or the one that section names, is in
// the table.
func (r *routeObject) inTable(t *effective.Table, section string) bool {
	return slices.ContainsFunc(t.Routes, func(rt *effective.Route) bool {
		return slices.ContainsFunc(rt.Origins, func(o *api.Origin) bool {
			return o.Ref == r.object.Ref && (section == "" || slices.Contains(r.sections(o), section))
		})
	})
}

// selects reports whether one of the selectors selects any dataplane.
func (m indexMesh) selects(selectors ...*matcher.Selector) bool {
	return slices.ContainsFunc(selectors, func(s *matcher.Selector) bool {
		for range m.selecting(s) {
			return true
		}
		return false
	})
}
