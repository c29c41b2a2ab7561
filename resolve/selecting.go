package resolve

import (
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
)

// hasRules reports whether a dataplane that the selector selects has a rule of the
// route; section, if given, names the rule.
func (m tablesMesh) hasRules(r *index.Route, section string, by *matcher.Selector) bool {
	for i := range r.Parsed.Entries {
		for d := range m.DestinationsNamed(index.TargetName(r.Parsed.Entries[i].To)) {
			for key := range m.ClassesOf(d) {
				if t, _ := m.routed.Get(m.At, key); t == nil || t.table == nil || !r.InTable(t.table, section) {
					continue
				}
				for of := range m.PlanesOf(key) {
					if p, _ := m.Dataplanes.Get(m.At, of); by.Selects(&p.Facts) {
						return true
					}
				}
			}
		}
	}
	return false
}
