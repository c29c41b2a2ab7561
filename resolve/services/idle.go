package services

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
)

// idle is a destination that somebody is to answer for, and for which nobody does.
type idle struct {
	waiting []api.Ref // dataplanes whose inbounds are not ready, the first of them
	total   int       // how many those are
}

// mostIdle bounds the dataplanes that a destination without endpoints names.
const mostIdle = 3

func (a *idle) is(b *idle) bool {
	return a == nil && b == nil || a != nil && b != nil && a.total == b.total && slices.Equal(a.waiting, b.waiting)
}

// idleOf is nil of a destination for which somebody answers, and of those for which nobody has to: a
// Service of Kubernetes that selects no dataplane may be that of workloads outside the mesh, as may be
// the MeshService that is made of one, and what a MeshMultiZoneService gathers may be elsewhere.
func idleOf(d *Destination, m *Members, waiting []Member) *idle {
	if len(m.List) > 0 || d.Object == nil && !d.Facts.Classic {
		return nil
	}
	out := &idle{}
	var seen []api.Ref
	for _, x := range waiting {
		if ref := x.Plane.Object.Ref; !slices.Contains(seen, ref) {
			seen = append(seen, ref)
		}
	}
	out.total = len(seen)
	out.waiting = seen[:min(len(seen), mostIdle)]
	if out.total > 0 || len(m.Left) > 0 || selectsByHand(d.Object) {
		return out
	}
	return nil
}

// selectsByHand reports whether an object is a MeshService that somebody wrote for dataplanes of this mesh.
func selectsByHand(o *api.Object) bool {
	if o == nil || o.Kind != api.KindMeshService || o.From != nil || o.Labels[api.LabelManagedBy] == api.ManagedByController || pods.PartOf(o) != "" {
		return false
	}
	spec, ok := o.Spec.(*api.MeshService)
	return ok && index.GatherTarget(spec.Selector) != ""
}

// Mismatch says why none of have, labels or tags, holds all of want, and what the
// writer may have meant.
func Mismatch(want map[string]string, have []map[string]string) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		keys, values := map[string]bool{}, map[string]bool{}
		for _, h := range have {
			for n, v := range h {
				keys[n] = true
				if n == k {
					values[v] = true
				}
			}
		}
		if values[want[k]] {
			continue
		}
		if len(values) == 0 {
			return fmt.Sprintf("nothing has %s%s", k, orAll(k, keys, ""))
		}
		return fmt.Sprintf("nothing has %s=%s%s", k, want[k], orAll(want[k], values, k+"="))
	}
	return "nothing has " + strings.ReplaceAll(index.LabelText(want), ",", " and ") + " at once"
}

// orAll names the nearest of words, or all where they are few.
func orAll(word string, words map[string]bool, before string) string {
	all := slices.Sorted(maps.Keys(words))
	near, lead, end := nearest.To(word, all, 3), "; did you mean ", "?"
	if len(near) == 0 && len(all) <= 5 {
		near, lead, end = all, "; there is ", ""
	}
	if len(near) == 0 {
		return ""
	}
	for i := range near {
		near[i] = before + near[i]
	}
	return lead + strings.Join(near, ", ") + end
}

// LeftText says of those who are left out why they are; empty for none.
func LeftText(left []effective.LeftOut) string {
	if len(left) == 0 {
		return ""
	}
	all := make([]string, len(left))
	for i, l := range left {
		all[i] = l.Dataplane.FullName() + ", " + l.Why
	}
	return ", without those that nobody may be led to: " + SomeNames(all)
}

// Unanswered says why nobody answers for a destination, or for its subset of
// these tags; empty where somebody does.
func Unanswered(d *Destination, by *Members, tags map[string]string) string {
	what := d.ID
	if len(tags) > 0 {
		what += " with tags " + index.LabelText(tags)
	}
	switch {
	case len(by.List) == 0:
		return d.ID + " has no ready endpoint" + LeftText(by.Left)
	case len(tags) == 0 || len(by.Subset(tags)) > 0:
		return ""
	}
	have := make([]map[string]string, len(by.List))
	for i, e := range by.List {
		have[i] = e.Tags
	}
	return what + " has no ready endpoint: " + Mismatch(tags, have)
}

// MostNames is how many of them one note names.
const MostNames = 5

// SomeNames are the first of many, and how many more there are.
func SomeNames(all []string) string {
	text := strings.Join(all[:min(len(all), MostNames)], ", ")
	if more := len(all) - MostNames; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
