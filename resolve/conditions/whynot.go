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
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// mostLooked bounds at how many dataplanes a note looks.
const mostLooked = 1000

// inboundsWith yields inbounds of a bucket that a policy is about, and what holds there of its kind.
// It looks at no more dataplanes than mostLooked.
func (m Mesh) inboundsWith(bucket string, p *index.Policy, yield func(*effective.Inbound, *policies.Effective) bool) {
	name := m.Kinds[p.Kind].Name
	visit := func(key string, in *dataplanes.Inbounds) bool {
		for _, x := range in.List {
			if !x.Is(bucket) {
				continue
			}
			all := []*policies.Effective{x.Policies.Of(name)}
			for i := range x.Rules {
				all = append(all, x.Rules[i].Permissions()...)
			}
			for _, e := range all {
				if e != nil && saidBy(e, p) && !yield(x.Inbound, e) {
					return false
				}
			}
		}
		return true
	}
	looked := 0
	if m.AuthorizesRoutes(p) {
		for at := range m.PlacementsOf(p) {
			in, _ := m.Inbounds.Get(m.At, at.Plane)
			if looked++; looked > mostLooked || in != nil && !visit(at.Plane, in) {
				return
			}
		}
		return
	}
	for key, in := range m.InboundsIn.In(m.At, bucket) {
		if looked++; looked > mostLooked || !visit(key, in) {
			return
		}
	}
}

// saidBy reports whether a policy says something of what holds, be it that others stand in its
// place.
func saidBy(e *policies.Effective, p *index.Policy) bool {
	for _, s := range e.Said {
		if s.Origin != nil && s.Origin.Ref == p.Object.Ref {
			return true
		}
	}
	return false
}

// askedNotes say of a policy about who may call where it is asked of fewer than it reads: of
// connections, and of callers in plaintext (spec/identity.md 4.3, 4.6).
func askedNotes(x Mesh, p *index.Policy) []api.Note {
	by := x.Kinds[p.Kind].Authorizer
	if by == nil || p.Object.Shadow() {
		return nil
	}
	var out []api.Note
	seen := map[*policies.Effective]bool{}
	x.inboundsWith(effective.BytesInbounds, p, func(_ *effective.Inbound, e *policies.Effective) bool {
		if seen[e] {
			return true
		}
		seen[e] = true
		for _, n := range by.AtConnections(e) {
			if n.Origin.Ref == p.Object.Ref && !slices.ContainsFunc(out, func(o api.Note) bool { return o.Code == n.Code && o.Field == n.Field }) {
				out = append(out, n)
			}
		}
		return true
	})
	x.inboundsWith(effective.PlainInbounds, p, func(in *effective.Inbound, e *policies.Effective) bool {
		if by.AsksPlaintext(e) {
			return true
		}
		out = append(out, api.Notef(&api.Origin{Ref: p.Object.Ref}, api.Warning, "PlaintextNotAsked", "",
			"it does not apply to plaintext clients: inbounds that it selects, such as %s, take plaintext beside mutual TLS, and let it in; make them Strict, or add an entry with anonymous: true, which judges them too", in.Name))
		return false
	})
	return out
}

// closedNotes say of a policy about who may call that only denies where nothing lets anybody in.
func closedNotes(x Mesh, p *index.Policy) []api.Note {
	by := x.Kinds[p.Kind].Authorizer
	if by == nil || p.Object.Shadow() || !by.OnlyDenies(p.Object.Spec.(*policies.Spec)) {
		return nil
	}
	var notes []api.Note
	where := map[api.Path][]string{}
	x.inboundsAbout(p, func(in *effective.Inbound, e *policies.Effective) {
		for _, n := range by.Closed(e) {
			if n.Origin.Ref != p.Object.Ref {
				continue
			}
			if where[n.Field] == nil {
				notes = append(notes, n)
			}
			where[n.Field] = append(where[n.Field], cmp.Or(in.Tags[api.TagService], in.Name))
		}
	})
	for i := range notes {
		n := &notes[i]
		at := where[n.Field]
		n.Origin = &api.Origin{Ref: p.Object.Ref}
		many := "at the inbound of " + at[0]
		if len(at) > 1 {
			many = fmt.Sprintf("at %d inbounds, such as that of %s,", len(at), at[0])
		}
		n.Message = many + " " + n.Message
	}
	return notes
}

// inboundsAbout visits the inbounds at which it is known who calls, or is to be by the documents, and
// that a policy is about, and what holds there of its kind. It looks at no more dataplanes than
// mostLooked.
func (m Mesh) inboundsAbout(p *index.Policy, visit func(*effective.Inbound, *policies.Effective)) {
	name := m.Kinds[p.Kind].Name
	at := func(key string) {
		in, _ := m.Inbounds.Get(m.At, key)
		if in == nil {
			return
		}
		for _, x := range in.List {
			own := x.AsDocumented()
			all := []*policies.Effective{own.Policies.Of(name)}
			for i := range own.Rules {
				all = append(all, own.Rules[i].Permissions()...)
			}
			for _, e := range all {
				if own.TLS != nil && e != nil && saidBy(e, p) {
					visit(own, e)
				}
			}
		}
	}
	seen := map[string]bool{}
	add := func(key string) bool {
		if !seen[key] {
			seen[key] = true
			at(key)
		}
		return len(seen) < mostLooked
	}
	if m.AuthorizesRoutes(p) {
		for place := range m.PlacementsOf(p) {
			if !add(place.Plane) {
				return
			}
		}
		return
	}
	for plane := range m.Selecting(p.Selector) {
		if !add(index.ObjectKey(plane.Object.Ref)) {
			return
		}
	}
}

// serverFirstNotes say of a dataplane that workloads that speak first are slow to be heard.
func serverFirstNotes(x Mesh, p *index.Dataplane) []api.Note {
	in, _ := x.Inbounds.Get(x.At, index.ObjectKey(p.Object.Ref))
	if in == nil {
		return nil
	}
	var out []api.Note
	for _, i := range in.List {
		if i.Is(effective.BytesInbounds) && i.Is(effective.PlainInbounds) {
			out = append(out, api.Notef(p.Origin(), api.Warning, "ServerFirstDelay", "",
				"inbound %s carries bytes and takes plaintext beside mutual TLS: who calls it in plaintext and waits for the workload to speak waits a second; make it Strict, or declare its protocol http if it is", i.Name))
		}
	}
	return out
}

// text is the reason for people, with the names that the writer may have meant.
func lostText(l *services.UnresolvedRef, m Mesh) string {
	if l.Missing == nil {
		return l.Message
	}
	return l.Message + suggestion(m, *l.Missing)
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
		maps.Copy(known, r.SectionNames)
		if ref.SectionName == "" || r.SectionNames[ref.SectionName] {
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
