package plan

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route/match"
)

// codeSectionMoved is that of warnings about a sectionName that names another rule than before.
const codeSectionMoved = "SectionMoved"

// Slid warns of policies that name a rule of a route by its place, and name another one because of
// routes among those that change: a rule was put before it, or taken away.
func Slid(before, after *resolve.Model, touched ...api.Ref) (out []*api.Violation) {
	routes, meshes := map[api.Ref]bool{}, map[string]bool{}
	for _, ref := range touched {
		_, was := before.Route(ref)
		if _, is := after.Route(ref); was && is {
			routes[ref], meshes[ref.Mesh] = true, true
		}
	}
	places := notes.LocatorIn(after.Snapshot())
	for mesh := range meshes {
		old, now := before.Reader(nil), after.Reader(nil)
		for o := range now.Attachable(mesh) {
			if !namesSection(o) {
				continue
			}
			was := old.NamedByIndex(o.Ref)
			for _, is := range now.NamedByIndex(o.Ref) {
				i := slices.IndexFunc(was, func(x resolve.NamedRule) bool {
					return x.Field == is.Field && x.Section == is.Section && x.Route == is.Route
				})
				if i >= 0 && routes[is.Route] && slid(before, after, &was[i], &is) {
					out = append(out, slidWarning(places, o, after, &was[i], &is))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	return out
}

// namesSection reports whether an object is a policy that names a part of a route.
func namesSection(o *api.Object) bool {
	spec, ok := o.Spec.(*policies.Spec)
	if !ok {
		return false
	}
	if top := spec.Top(); top.IsRoute() && top.SectionName != "" {
		return true
	}
	return slices.ContainsFunc(spec.To, func(x policies.Item) bool { return x.TargetRef.IsRoute() && x.TargetRef.SectionName != "" })
}

// slid reports whether two rules are others, of which the one before is elsewhere now, or the one
// after was elsewhere before: one that was changed where it stands is what the policy still means.
func slid(before, after *resolve.Model, was, is *resolve.NamedRule) bool {
	return !sameMatches(was.Matches, is.Matches) && (hasRule(after, is.Route, was.Matches) || hasRule(before, was.Route, is.Matches))
}

func sameMatches(a, b []match.Match) bool {
	return slices.EqualFunc(a, b, func(x, y match.Match) bool {
		return slices.EqualFunc(x.Conditions, y.Conditions, match.Condition.Equal)
	})
}

func hasRule(m *resolve.Model, ref api.Ref, matches []match.Match) bool {
	return placeOf(m, ref, matches) != nil
}

// placeOf is where a route has a rule with those matches; nil for nowhere.
func placeOf(m *resolve.Model, ref api.Ref, matches []match.Match) *api.Origin {
	opinion, ok := m.Route(ref)
	if !ok {
		return nil
	}
	for _, e := range opinion.Entries {
		for i := range e.Rules {
			if e.Rules[i].Origin.Ref == ref && sameMatches(e.Rules[i].Matches, matches) {
				return e.Rules[i].Origin
			}
		}
	}
	return nil
}

func slidWarning(places *notes.Locator, o *api.Object, after *resolve.Model, was, is *resolve.NamedRule) *api.Violation {
	text := fmt.Sprintf("%s is the place of a rule of %s, and names another rule than before: %s, and before %s", strconv.Quote(is.Section), is.Route, terminal.MatchesText(is.Matches), terminal.MatchesText(was.Matches))
	if at := placeOf(after, is.Route, was.Matches); at != nil {
		text += ", which is " + terminal.OriginText(at) + " now"
	} else {
		text += ", which is gone"
	}
	note := api.Note{Origin: &api.Origin{Ref: o.Ref, Field: is.Field}, Severity: api.Warning, Code: codeSectionMoved, Field: is.Field, Message: text + "; write the place that is meant, or name rules where the kind of route lets them have names"}
	return &api.Violation{Position: places.Of(note), Object: o.Ref, Field: note.Field, Code: note.Code, Message: note.Message, Severity: api.Warning}
}
