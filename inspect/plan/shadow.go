package plan

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// WithShadow is the step from what holds to what would hold if the policies and routes of a
// mesh that only take part in previews (label kuma.io/effect: shadow) took part as others do.
// Nothing of m changes; of a mesh without any the step is none, to m itself.
func WithShadow(m *resolve.Reader, mesh string) Step {
	return resolve.Known(m, shadowKey{mesh}, func() Step { return withShadow(m, mesh) })
}

type shadowKey struct{ mesh string }

func withShadow(m *resolve.Reader, mesh string) Step {
	written := m.Written()
	s := Step{Before: m.Model, After: m.Model}
	var changes []api.Change
	for o := range m.Attachable(mesh) {
		before, ok := written.Get(o.Ref)
		if !ok || !before.Shadow() {
			continue
		}
		changes = append(changes, api.Change{Before: before, After: unshadowed(before)})
		s.Touched = append(s.Touched, o.Ref)
	}
	if len(changes) == 0 {
		return s
	}
	next, affected := m.Update(written.With(written.Revision()+1, changes), changes)
	s.After, s.Affected = next, affected.Dataplanes
	return s
}

// unshadowed is an object that takes part as others do.
func unshadowed(o *api.Object) *api.Object {
	after := *o
	after.Labels, after.Adjusted = maps.Clone(o.Labels), true
	delete(after.Labels, api.LabelEffect)
	return &after
}

// Preview plans writes as if what only takes part in previews (label kuma.io/effect: shadow)
// took part as others do: what they bring, and what is stored in the meshes of that, or in all
// where they bring nothing.
type Preview struct {
	// Takes reports which of the stored objects are looked at, such as policies and routes; others
	// stay as they are.
	Takes func(*api.Object) bool

	brought, stored map[api.Ref]bool // that were made to take part
}

// Of is the plan of such writes.
func (p *Preview) Of(of store.Plan) store.Plan {
	return func(now *api.Snapshot) ([]store.Write, error) {
		writes, err := of(now)
		if err != nil {
			return nil, err
		}
		p.brought, p.stored = map[api.Ref]bool{}, map[api.Ref]bool{}
		out := make([]store.Write, len(writes))
		there, meshes := map[api.Ref]bool{}, map[string]bool{}
		for i, w := range writes {
			out[i] = w
			if w.Delete != nil {
				there[*w.Delete] = true
				continue
			}
			there[w.Put.Ref], meshes[meshOf(w.Put.Ref)] = true, true
			if w.Put.Shadow() {
				out[i].Put, p.brought[w.Put.Ref] = unshadowed(w.Put), true
			}
		}
		for o := range now.All() {
			if o.Shadow() && !there[o.Ref] && (len(meshes) == 0 || meshes[o.Mesh]) && p.Takes(o) {
				out, p.stored[o.Ref] = append(out, store.Write{Put: unshadowed(o)}), true
			}
		}
		return out, nil
	}
}

// Results are those of the writes, without what was stored before.
func (p *Preview) Results(all []store.Result) []store.Result {
	return slices.DeleteFunc(slices.Clone(all), func(r store.Result) bool { return p.stored[r.Ref] })
}

// Tell makes a plan say which documents it counts as if they took part: of those that were
// stored before nothing becomes.
func (p *Preview) Tell(of *Plan) {
	names := map[string]bool{}
	for ref := range p.brought {
		names[ref.String()] = true
	}
	for i := range of.Changes {
		of.Changes[i].Shadow = names[of.Changes[i].Object]
	}
	for _, ref := range slices.SortedFunc(maps.Keys(p.stored), api.Ref.Compare) {
		of.Changes = append(of.Changes, Change{Object: ref.String(), Action: actions[store.Unchanged], Shadow: true})
	}
}
