package plan

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// names notes what changes about the names that workloads may call: those of all callers, since
// a name that comes concerns who has no other change. It is looked at once for all who may
// call the same; the sidecars of those that answer no DNS are not told.
func (d *differ) names(s Step, affected map[api.Ref]bool) {
	for _, mesh := range namesMeshes(s) {
		known := map[[2]string]*entry[Effect]{}
		for o := range s.After.Snapshot().Of(api.KindDataplane, mesh) {
			if s.Wanted != nil && !s.Wanted() {
				return
			}
			was, is := s.Before.CallsAs(o.Ref), s.After.CallsAs(o.Ref)
			if was == "" && is == "" || s.See != nil && !s.See(o.Ref) || !s.Before.Snapshot().Has(o.Ref) {
				continue
			}
			x, seen := known[[2]string{was, is}]
			if !seen {
				x = d.namesOf(s, mesh, was, is)
				known[[2]string{was, is}] = x
			}
			if x != nil {
				x.at(d.number(o.Ref))
				affected[o.Ref] = true
			}
		}
	}
}

// namesMeshes are the meshes in which names may change: all where an object of none does.
func namesMeshes(s Step) (out []string) {
	for _, ref := range s.Touched {
		if mesh := meshOf(ref); mesh != "" {
			out = append(out, mesh)
			continue
		}
		for o := range s.After.Snapshot().OfKind(api.KindDataplane) {
			out = append(out, o.Mesh)
		}
		break
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namesOf is what changes about the names of those who may call the same; nil where nothing
// does.
func (d *differ) namesOf(s Step, mesh, was, is string) *entry[Effect] {
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
	e := Effect{Mesh: mesh, Part: PartNames, Before: orNil(slices.DeleteFunc(slices.Clone(had), stays(has))), After: orNil(slices.DeleteFunc(slices.Clone(has), stays(had)))}
	return d.effect(e)
}

// namesText are names with their addresses, sorted.
func namesText(h *resolve.Hostnames) []string {
	out := make([]string, len(h.List))
	for i, x := range h.List {
		out[i] = x.Name + " " + strings.Join(x.Addresses, ",")
	}
	slices.Sort(out)
	return out
}
