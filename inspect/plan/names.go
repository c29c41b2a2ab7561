package plan

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve/reachability"
)

// names notes what changes about the names that workloads may call: whose names are others is
// among those that a step affects. It is looked at once for all who may call the same; the
// sidecars of those that answer no DNS are not told.
func (d *differ) names(s step.Comparison, affected map[api.Ref]bool) {
	type pair struct{ mesh, was, is string }
	known := map[pair]*entry[Effect]{}
	for _, ref := range s.Affected {
		if s.Wanted != nil && !s.Wanted() {
			return
		}
		was, is := s.Before.CallsAs(ref), s.After.CallsAs(ref)
		if was == "" && is == "" || s.See != nil && !s.See(ref) || !s.Before.Snapshot().Has(ref) || !s.After.Snapshot().Has(ref) {
			continue
		}
		at := pair{ref.Mesh, was, is}
		x, seen := known[at]
		if !seen {
			x = d.namesOf(s, ref.Mesh, was, is)
			known[at] = x
		}
		if x != nil {
			x.at(d.number(ref))
			affected[ref] = true
		}
	}
}

// namesOf is what changes about the names of those who may call the same; nil where nothing
// does.
func (d *differ) namesOf(s step.Comparison, mesh, was, is string) *entry[Effect] {
	before := s.Before.Hostnames(mesh, was, nil)
	after := before
	if was == is {
		after = s.After.Hostnames(mesh, is, before)
	} else {
		after = s.After.Hostnames(mesh, is, nil)
	}
	if before == after || before.Version == after.Version {
		return nil
	}
	had, has := namesText(before), namesText(after)
	stays := func(in []string) func(string) bool {
		return func(name string) bool { _, there := slices.BinarySearch(in, name); return there }
	}
	e := Effect{Mesh: mesh, Section: SectionNames, Before: orNil(slices.DeleteFunc(slices.Clone(had), stays(has))), After: orNil(slices.DeleteFunc(slices.Clone(has), stays(had)))}
	return d.effect(e)
}

// namesText are names with their addresses, sorted.
func namesText(h *reachability.Hostnames) []string {
	out := make([]string, len(h.List))
	for i, x := range h.List {
		out[i] = x.Name + " " + strings.Join(x.Addresses, ",")
	}
	slices.Sort(out)
	return out
}
