package plan

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// WithShadow is the model of what would hold if the policies and routes of a mesh that only take
// part in previews (label kuma.io/effect: shadow) took part as others do. Nothing of m changes; of
// a mesh without any it is m itself. The next model's follows from it, at the cost of the changes.
func WithShadow(m *resolve.Reader, mesh string) *resolve.Model {
	type shadowKey struct{ mesh string }
	return resolve.CachedAcross(m, shadowKey{mesh}, func() *resolve.Model {
		snapshot, shadows := shadowsOf(m, mesh)
		if len(shadows) == 0 {
			return m.Model
		}
		after, _ := m.Update(snapshot, shadows)
		return after
	}, func(was *resolve.Model, changes []snapshot.Change) *resolve.Model {
		snapshot, shadows := shadowsOf(m, mesh)
		if len(shadows) == 0 {
			return m.Model
		}
		after, _ := was.Update(snapshot, unshadowedIn(m, mesh, changes))
		return after
	})
}

// shadowsOf are the shadows of a mesh, as changes to what is written that let them take part, and
// what is written then.
func shadowsOf(m *resolve.Reader, mesh string) (*snapshot.Snapshot, []snapshot.Change) {
	written := m.Written()
	var changes []snapshot.Change
	for o := range m.Attachable(mesh) {
		if before, ok := written.Get(o.Ref); ok && before.Shadow() {
			changes = append(changes, snapshot.Change{Before: before, After: unshadowed(before)})
		}
	}
	return written.With(written.Revision()+1, changes), changes
}

// unshadowedIn are changes of a model as those of one in which the shadows of a mesh take part;
// each object changes once.
func unshadowedIn(m *resolve.Reader, mesh string, changes []snapshot.Change) []snapshot.Change {
	var out []snapshot.Change
	at := map[api.Ref]int{}
	for _, c := range changes {
		if o := c.After; o != nil && o.Mesh == mesh && o.Shadow() && m.IsAttachable(o.Kind) {
			c.After = unshadowed(o)
		}
		if n, again := at[c.Ref()]; again {
			out[n].After = c.After
			continue
		}
		at[c.Ref()] = len(out)
		out = append(out, c)
	}
	return slices.DeleteFunc(out, func(c snapshot.Change) bool { return c.Before == nil && c.After == nil })
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
	return func(now *snapshot.Snapshot) ([]store.Write, error) {
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
		of.Changes = append(of.Changes, step.Change{Object: ref.String(), Action: step.Actions[store.Unchanged], Shadow: true})
	}
}
