package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
)

// The codes of notes on what is there and holds nothing (spec/contract.md 6).
const (
	selectsNothing = "SelectsNothing" // labels or tags of a top-level ref
	noEndpoints    = "NoEndpoints"    // a backend that nobody answers for
)

// selectsNone is the note on a top-level ref that selects no dataplane: one by a
// name leads nowhere, one by labels or tags may be early. Of refs that may select
// everything there is nothing to say.
func selectsNone(x mesh, top api.TargetRef, s *matcher.Selector, origin *api.Origin) (api.Note, bool) {
	named, labelled := top.Name != "", len(top.Labels)+len(top.Tags)+len(top.ProxyTypes) > 0
	if top.Kind == api.KindMeshGateway || top.IsRoute() || !named && !labelled || x.Selects(s) {
		return api.Note{}, false
	}
	const at = api.Path("spec.targetRef")
	if named {
		if lost := lostName(x, top); lost != "" {
			return api.Notef(origin, api.Error, "TargetNotFound", at, "%s", lost), true
		}
	}
	return api.Notef(origin, api.Warning, selectsNothing, at, "%s selects no dataplane: %s", refText(top), unselected(x, top)), true
}

// lostName says that no dataplane answers to the name of a top-level ref, with
// the nearest names; empty where one does.
func lostName(x mesh, top api.TargetRef) string {
	names := x.planeNames(top.Kind == api.KindDataplane)
	if names.has[top.Name] {
		return ""
	}
	near := orNearest(names.Nearest(top.Name, mostNear))
	if top.Kind == api.KindDataplane {
		return "there is no " + refText(top) + near
	}
	return fmt.Sprintf("no dataplane has %s=%s%s", api.TagService, top.Name, near)
}

// unselected says what of a top-level ref no dataplane satisfies.
func unselected(x mesh, top api.TargetRef) string {
	var labels, tags []map[string]string
	for p := range x.Dataplanes.Values(x.At) {
		labels = append(labels, p.Facts.Labels.All())
		for _, t := range p.Facts.Tags {
			if top.Kind == api.KindMeshSubset || t[api.TagService] == top.Name {
				tags = append(tags, t)
			}
		}
	}
	for _, s := range []struct {
		want map[string]string
		have []map[string]string
	}{{top.Labels, labels}, {top.Tags, tags}} {
		if len(s.want) > 0 {
			return mismatch(s.want, s.have)
		}
	}
	if len(top.ProxyTypes) > 0 {
		return "there is none of that type"
	}
	return "it is in another namespace or zone"
}

// mismatch says why none of have, labels or tags, holds all of want, and what the
// writer may have meant.
func mismatch(want map[string]string, have []map[string]string) string {
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
	return "nothing has " + strings.ReplaceAll(labelText(want), ",", " and ") + " at once"
}

// orAll names the nearest of words, or all where they are few.
func orAll(word string, words map[string]bool, before string) string {
	all := slices.Sorted(maps.Keys(words))
	near, lead, end := api.Nearest(word, all, 3), "; did you mean ", "?"
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
	return ", without those that nobody may be led to: " + someNames(all)
}

// unanswered says why nobody answers for a destination, or for its subset of
// these tags; empty where somebody does.
func unanswered(d *dest, by *members, tags map[string]string) string {
	what := d.ID
	if len(tags) > 0 {
		what += " with tags " + labelText(tags)
	}
	switch {
	case len(by.list) == 0:
		return d.ID + " has no ready endpoint" + LeftText(by.left)
	case len(tags) == 0 || len(by.subset(tags)) > 0:
		return ""
	}
	have := make([]map[string]string, len(by.list))
	for i, e := range by.list {
		have[i] = e.Tags
	}
	return what + " has no ready endpoint: " + mismatch(tags, have)
}
