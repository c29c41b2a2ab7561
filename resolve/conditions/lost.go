package conditions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// text is the reason for people, with the names that the writer may have meant.
func lostText(l *services.LostRef, m Mesh) string {
	if l.Absent == nil {
		return l.Message
	}
	return l.Message + suggestion(m, *l.Absent)
}

// onRoute reports whether a route that the policy targets has the item's
// destination as an outbound.
func onRoute(x Mesh, it *index.Item, home api.Home) bool {
	for r := range x.SelectedRoutes(it.Policy.TopRoute, home) {
		for _, e := range r.Parsed.Entries {
			if e.To.Kind == it.Target.Kind && e.To.Name != "" && e.To.Name == it.Target.Name {
				return true
			}
			for d := range x.DestinationsOf(&e) {
				if matcher.Destination(e.To, r.Object.Home(), &d.Facts) && matcher.Destination(it.Target, home, &d.Facts) {
					return true
				}
			}
		}
	}
	return false
}

// destinationsOf tells the writer of an item which destinations the route that
// its policy targets has, and which of them the item may mean.
func destinationsOf(x Mesh, it *index.Item, home api.Home) string {
	var names, all []string
	for r := range x.SelectedRoutes(it.Policy.TopRoute, home) {
		for _, e := range r.Parsed.Entries {
			names, all = append(names, e.To.Name), append(all, index.RefText(e.To))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if more := len(all) - 5; more > 0 {
		all = append(all[:5], fmt.Sprintf("%d more", more))
	}
	text := "target Mesh, or what the route has: " + strings.Join(all, ", ")
	if near := nearest.To(it.Target.Name, names, 3); it.Target.Name != "" && len(near) > 0 {
		slices.Sort(near)
		text = "did you mean " + strings.Join(slices.Compact(near), ", ") + "? " + text
	}
	return text
}

// missesEveryInbound reports whether the policy selects dataplanes, and its
// sectionName none of their inbounds.
func missesEveryInbound(x Mesh, p *index.Policy) bool {
	some := false
	for y := range x.Selecting(p.Selector) {
		some = true
		if in, _ := x.Inbounds.Get(x.At, index.ObjectKey(y.Object.Ref)); in != nil && slices.ContainsFunc(in.List, func(i effective.InboundUse) bool { return p.OnSection(i.Inbound) }) {
			return false
		}
	}
	return some
}

// missesEveryone reports whether the policy of an item for a route selects
// dataplanes, and the rules that the item is for are on none of them: their
// dataplanes are others, or call none of their destinations (spec/kuma.md 4.10).
func missesEveryone(x Mesh, it *index.Item, home api.Home) bool {
	if !x.Selects(it.Policy.Selector) {
		return false
	}
	for r := range x.SelectedRoutes(&it.Target, home) {
		if x.HasRules(r, it.Target.SectionName, it.Policy.Selector) {
			return false
		}
	}
	return true
}

// routeLost says why a ref selects no rule of any route; empty if it does.
func routeLost(x Mesh, ref api.TargetRef, home api.Home) string {
	found, known := false, map[string]bool{}
	for r := range x.SelectedRoutes(&ref, home) {
		found = true
		maps.Copy(known, r.Known)
		if ref.SectionName == "" || r.Known[ref.SectionName] {
			return ""
		}
	}
	if found {
		return fmt.Sprintf("%s has no rule %q; %s", index.RefText(ref), ref.SectionName, ruleNames(known))
	}
	return "there is no " + index.RefText(ref) + orNearest(x.routeNames(ref.Kind).Nearest(ref.Name, mostNear))
}

// shownRules is how many names of rules a message has.
const shownRules = 8

// ruleNames are the names of the rules of a route, in whichever way its language gives them.
func ruleNames(known map[string]bool) string {
	names := slices.SortedFunc(maps.Keys(known), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if len(names) == 0 {
		return "it has no rules, so leave sectionName out"
	}
	text := strings.Join(names[:min(len(names), shownRules)], ", ")
	if more := len(names) - shownRules; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "name one of its rules: " + text
}

// destinationLost says why a ref means no destination; empty if it does.
func destinationLost(x Mesh, ref api.TargetRef, home api.Home) string {
	for d := range x.DestinationsNamed(index.TargetName(ref)) {
		if matcher.Destination(ref, home, &d.Facts) {
			return ""
		}
	}
	return "there is no " + index.RefText(ref) + suggestion(x, ref)
}

// suggestion names destinations that the writer may have meant.
func suggestion(x Mesh, ref api.TargetRef) string {
	if ref.Name == "" {
		var have []map[string]string
		for d := range x.DestinationsNamed(index.Any) {
			if d.Kind == ref.Kind {
				have = append(have, d.Labels.All())
			}
		}
		return ": " + services.Mismatch(ref.Labels, have)
	}
	return orNearest(x.destNames().Nearest(ref.Name, mostNear))
}

// mostNear is how many names a message has that may be meant.
const mostNear = 3

// DidYouMean lists the nearest names.
func DidYouMean(name string, names []string) string {
	return orNearest(nearest.To(name, names, mostNear))
}

func orNearest(near []string) string {
	if len(near) == 0 {
		return "; create it, or name one that exists"
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// AnySelects reports whether one of the selectors selects the dataplane.
func AnySelects(selectors []*matcher.Selector, p *index.Dataplane) bool {
	return slices.ContainsFunc(selectors, func(s *matcher.Selector) bool { return s.Selects(&p.Facts) })
}
