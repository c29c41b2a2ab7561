package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// losable notes the objects that may lose an effect.
func (d *differ) losable(origins ...*api.Origin) {
	for _, o := range origins {
		if o != nil {
			d.mayLose[o.Ref] = true
		}
	}
}

// losableAt notes the policies that hold at a rule that goes.
func (d *differ) losableAt(r *effective.Route) {
	for _, p := range r.Acting() {
		for _, f := range p.Fields {
			if n := len(f.Said); n > 0 {
				d.losable(f.Said[n-1].Origin)
			}
		}
	}
}

// warnings are references that would lose what they name, and entries of objects that
// nobody touches which would have no effect any more.
func warnings(s step.Comparison, d *differ) []*api.Violation {
	out := notes.Breaks(s.Before, s.After, s.Touched...)
	broken := len(out)
	byMesh := map[string][]api.Ref{}
	for ref := range d.mayLose {
		if !slices.Contains(s.Touched, ref) && s.After.Snapshot().Has(ref) {
			byMesh[ref.Mesh] = append(byMesh[ref.Mesh], ref)
		}
	}
	for _, mesh := range union(byMesh, nil) {
		refs := byMesh[mesh]
		slices.SortFunc(refs, api.Ref.Compare)
		was, is := s.Before.Reader(nil).ImpactOf(mesh, refs, nil), s.After.Reader(nil).ImpactOf(mesh, refs, nil)
		for i, ref := range refs {
			for _, v := range lost(s.After.Snapshot(), ref, was[i], is[i]) {
				if !slices.ContainsFunc(out[:broken], func(b *api.Violation) bool { return explains(b, v) }) {
					out = append(out, v)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	return out
}

// explains reports whether a reference that leads nowhere is why an entry has no effect.
func explains(broken, entry *api.Violation) bool {
	return broken.Object == entry.Object && (broken.Field == "spec.targetRef" || broken.Field == entry.Field.Field("targetRef"))
}

// lost are the entries of an object that acted and would not.
func lost(after *snapshot.Snapshot, ref api.Ref, was, is *impact.Impact) (out []*api.Violation) {
	now := map[api.Path]*impact.EntryEffect{}
	for _, e := range is.Entries {
		now[e.Field] = e
	}
	o, _ := after.Get(ref)
	places := notes.LocatorIn(after)
	for _, e := range was.Entries {
		n := now[e.Field]
		if e.Acts == 0 || n != nil && n.Acts != 0 {
			continue
		}
		note := api.Note{Origin: &api.Origin{Ref: ref, Field: e.Field}, Severity: api.Warning, Code: api.CodeNoEffect, Field: e.Field, Message: why(o, n)}
		out = append(out, &api.Violation{Position: places.Of(note), Object: ref, Field: e.Field, Code: note.Code, Message: note.Message, Severity: api.Warning})
	}
	return out
}

// why says what becomes of an entry that acted before; n is nil where it is attached nowhere.
func why(o *api.Object, n *impact.EntryEffect) string {
	what := "it would take no request any more"
	if _, policy := o.Spec.(*policies.Spec); policy {
		what = "it would have no effect any more"
	}
	switch {
	case n == nil:
		return what + ": nothing that it is attached to is left"
	case len(n.By) > 0:
		var by []string
		for _, x := range n.By {
			by = append(by, terminal.OriginText(x))
		}
		return fmt.Sprintf("%s: %s would stand in its place", what, strings.Join(by, ", "))
	case n.Why != "":
		return what + ": " + n.Why
	}
	return what
}
