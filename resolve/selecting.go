package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// classesOf yields the classes of dataplanes that call a destination, by key.
func (m reachabilityMesh) classesOf(d *services.Destination) iter.Seq[string] {
	prefix := classKey(d.Key, "")
	own := m.byClass.Buckets(m.At, prefix)
	if d.Kind != api.KindHost {
		return own
	}
	all := slices.AppendSeq(slices.Collect(own), m.groupsByClass.Buckets(m.At, prefix))
	slices.Sort(all)
	return slices.Values(slices.Compact(all))
}

// planesOf yields the keys of the dataplanes of a class, in no order; one may come twice.
func (m reachabilityMesh) planesOf(class string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range m.byClass.Keys(m.At, class) {
			if !yield(key) {
				return
			}
		}
		for group := range m.groupsByClass.Keys(m.At, class) {
			for key := range m.byGroup.Keys(m.At, group) {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// hasRules reports whether a dataplane that the selector selects has a rule of the
// route; section, if given, names the rule.
func (m tablesMesh) hasRules(r *index.Route, section string, by *matcher.Selector) bool {
	for i := range r.Parsed.Entries {
		for d := range m.DestinationsNamed(index.TargetName(r.Parsed.Entries[i].To)) {
			for key := range m.classesOf(d) {
				if t, _ := m.routed.Get(m.At, key); t == nil || t.table == nil || !r.InTable(t.table, section) {
					continue
				}
				for of := range m.planesOf(key) {
					if p, _ := m.Dataplanes.Get(m.At, of); by.Selects(&p.Facts) {
						return true
					}
				}
			}
		}
	}
	return false
}
