package resolve

import (
	"slices"
	"strings"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// asked remembers what people's questions have looked up in one revision of a
// mesh: they ask the same of thousands of objects.
type asked struct {
	selections sync.Map // []api.Ref by the keys of the selectors
	once       sync.Once
	where      whereabouts
}

// whereabouts tells which dataplanes have the rules of which routes.
type whereabouts struct {
	tables map[api.Ref][]*Table // by route object
	planes map[*Table][]*dataplane
}

// whereabouts looks at every dataplane, at the first question.
func (m *mesh) whereabouts() *whereabouts {
	m.asked.once.Do(func() {
		w := whereabouts{map[api.Ref][]*Table{}, map[*Table][]*dataplane{}}
		for _, p := range collect(m.planes.Root().Iterator()) {
			for _, o := range p.resolved.Outbounds {
				if o.Table == nil {
					continue
				}
				if len(w.planes[o.Table]) == 0 {
					w.index(o.Table)
				}
				w.planes[o.Table] = append(w.planes[o.Table], p.plane)
			}
		}
		m.asked.where = w
	})
	return &m.asked.where
}

// index notes whose rules are in a table.
func (w *whereabouts) index(t *Table) {
	for _, rt := range t.Routes {
		for _, o := range rt.Origins {
			if known := w.tables[o.Ref]; len(known) == 0 || known[len(known)-1] != t {
				w.tables[o.Ref] = append(known, t)
			}
		}
	}
}

// anySelected reports whether the selector selects a dataplane on which the route
// has a rule; section, if given, names the rule.
func (w *whereabouts) anySelected(r *routeObject, section string, by *matcher.Selector) bool {
	for _, t := range w.tables[r.object.Ref] {
		if section != "" && !t.has(r, section) {
			continue
		}
		if slices.ContainsFunc(w.planes[t], func(p *dataplane) bool { return by.Selects(&p.facts) }) {
			return true
		}
	}
	return false
}

// has reports whether the rule of the route is in the table.
func (t *Table) has(r *routeObject, section string) bool {
	return slices.ContainsFunc(t.Routes, func(rt *Route) bool {
		return slices.ContainsFunc(rt.Origins, func(o *api.Origin) bool {
			return o.Ref == r.object.Ref && slices.Contains(r.sections(o), section)
		})
	})
}

// selectedBy are the dataplanes that one of the selectors selects.
func (m *mesh) selectedBy(selectors []*matcher.Selector) []api.Ref {
	if len(selectors) == 0 {
		return nil
	}
	var keys []string
	for _, s := range selectors {
		keys = append(keys, s.Key)
	}
	slices.Sort(keys)
	key := strings.Join(slices.Compact(keys), "\x00")
	if known, ok := m.asked.selections.Load(key); ok {
		return known.([]api.Ref)
	}
	var out []api.Ref
	for _, p := range collect(m.planes.Root().Iterator()) {
		if anySelects(selectors, p.plane) {
			out = append(out, p.resolved.Ref)
		}
	}
	m.asked.selections.Store(key, out)
	return out
}
