package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/route"
)

// routeObject is one route object, read once.
type routeObject struct {
	object    *api.Object
	kind      int // in the order of all kinds: the smaller owns a destination; see owners
	opinion   *route.Opinion
	facts     matcher.RouteObject
	selector  *matcher.Selector
	rank      rank
	ruleNames map[string]bool
	known     map[string]bool // all by which a sectionName may mean a rule
	reads     []string        // what its dialect looked at: keys of objects, or all of a kind
}

func newRouteObject(o *api.Object, kind int, d *route.Dialect, zone map[string]string, see route.See) *routeObject {
	seen := record{See: see}
	says := d.Read(o, &seen)
	role := cmp.Or(says.Role, api.RoleSystem)
	r := &routeObject{object: o, kind: kind, opinion: says, facts: matcher.RouteOf(o, zone), ruleNames: map[string]bool{},
		selector: matcher.SelectorOf(says.Top, localOf(o, role)), rank: rankOf(o, says.Top, role)}
	for _, e := range says.Entries {
		for _, rule := range e.Rules {
			if rule.Origin.Ref == o.Ref && rule.Origin.RuleName != "" {
				r.ruleNames[rule.Origin.RuleName] = true
			}
		}
	}
	r.known = map[string]bool{}
	for _, e := range says.Entries {
		for i := range e.Rules {
			if e.Rules[i].Origin.Ref != o.Ref {
				continue
			}
			for _, name := range r.sections(e.Rules[i].Origin) {
				r.known[name] = true
			}
		}
	}
	if len(seen.asked) > 0 {
		r.reads = slices.Sorted(maps.Keys(seen.asked))
	}
	return r
}

// kindOf finds the dialect of a kind of documents, and the kind's place in the
// order of all kinds of routes; nil for what is no route.
func kindOf(dialects []route.Dialect, kind string) (*route.Dialect, int) {
	place := 0
	for i := range dialects {
		for _, t := range dialects[i].Types {
			if t.Name == kind {
				return &dialects[i], place
			}
			place++
		}
	}
	return nil, 0
}

// contribution is what one route object says about one destination.
type contribution struct {
	route *routeObject
	entry *route.Entry // nil where the rule comes from an object that others include
	rank  rank
	depth int // of an object that includes the rule: how many include it
}

// composition is what contributions to a destination come to: one for all classes
// that have the same ones.
type composition struct {
	route.Composition
	from []*contribution // weakest first
}

// compose composes what is said about a destination to those who have the
// contributions that bits mark.
func (m mesh) compose(d *dest, all []*contribution, bits string) *composition {
	n := &composition{}
	var candidates []route.Candidate
	for i, x := range all {
		if bits[i] == '1' {
			n.from = append(n.from, x)
			candidates = append(candidates, route.Candidate{Opinion: x.route.opinion, Entry: x.entry})
		}
	}
	dialect := &m.dialects[0] // which says what holds where nobody says anything
	if len(n.from) > 0 {
		dialect, _ = kindOf(m.dialects, n.from[0].route.object.Kind)
	}
	if len(n.from) == 0 && !d.Protocol.HTTPLike() {
		n.Connections = &route.Composed{Do: route.Itself{}}
	} else {
		n.Composition = dialect.Compose(frontendOf(d.Destination), candidates)
	}
	return n
}

func frontendOf(d *Destination) route.Frontend {
	return route.Frontend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Protocol: d.Protocol}
}
