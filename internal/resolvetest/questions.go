package resolvetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// Answers is what a model answers to the questions of people: how far each
// policy and route reaches, and what selects each dataplane.
func Answers(model *resolve.Model) string {
	var b strings.Builder
	for o := range model.Snapshot().All() {
		r, isRoute := model.Route(o.Ref)
		isPolicy := slices.ContainsFunc(kindNames(model), func(k string) bool { return k == o.Kind })
		if !isRoute && !isPolicy {
			continue
		}
		fmt.Fprintf(&b, "%s selects %s%s\n", o.Ref, refNames(model.Reader(nil).Selected(o.Ref)), reachText(model, o.Ref))
		if isRoute {
			fmt.Fprintf(&b, " is a route about %d destinations\n", len(r.Entries))
		}
		for _, r := range model.Reader(nil).RoutesOf(o.Ref) {
			fmt.Fprintf(&b, " targets %s\n", r.Object.Ref)
		}
	}
	for r := range model.Dataplanes("") {
		fmt.Fprintf(&b, "%s\n", r.Ref)
		for _, kind := range kindNames(model) {
			for _, it := range model.Reader(nil).Matched(r.Ref, kind).Items() {
				fmt.Fprintf(&b, " says %s %s %d\n", kind, it.Policy.Name, it.Index)
			}
		}
		for _, n := range model.Reader(nil).NotesAt(r.Ref) {
			fmt.Fprintf(&b, " note %s %s %s\n", n.Origin.Name, n.Code, n.Field)
		}
	}
	for _, mesh := range []string{"", "default", "other"} {
		for d := range model.Destinations(mesh) {
			found, ok := model.Destination(mesh, d.ID)
			fmt.Fprintf(&b, "destination %s of %q, found %v\n", d.ID, mesh, ok && found == d)
		}
	}
	return b.String()
}

// reachText says on which dataplanes an object acts, loses and lacks, and how its
// entries fare.
func reachText(model *resolve.Model, ref api.Ref) string {
	var on [4][]api.Ref
	x := model.Reader(nil).ImpactOf(ref.Mesh, []api.Ref{ref}, func(_, _ int, r *effective.Resolved, p impact.Presence) { on[p] = append(on[p], r.Ref) })[0]
	text := ", acts on " + refNames(on[impact.Acts]) + ", loses on " + refNames(on[impact.Loses]) + ", is missing on " + refNames(on[impact.Lacks])
	for _, e := range x.Entries {
		text += fmt.Sprintf("\n %s %s", e.Field, [...]string{"holds", "holds in part", "is overridden", "has no effect"}[e.State()])
		for _, by := range e.By {
			text += fmt.Sprintf(" by %s %s", by.Name, by.Field)
		}
		if e.Why != "" {
			text += ": " + e.Why
		}
	}
	return text
}

func kindNames(model *resolve.Model) []string {
	var out []string
	for _, k := range model.Kinds() {
		out = append(out, k.Name)
	}
	return out
}

func refNames(list []api.Ref) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Name)
	}
	return "[" + strings.Join(out, " ") + "]"
}
