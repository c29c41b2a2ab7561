package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/route"
)

// meshNotes is what there is to say on the policies and routes of a mesh, or on the others. Most of
// them are as they should be, and are in neither list nor byObject.
type meshNotes struct {
	list     []*objectNotes // in the order of refs
	byObject map[*api.Object]*objectNotes
	told     map[string]*toldOf // every one, by objectKey
}

// objectNotes are the notes on a policy, on a route, or on another object.
type objectNotes struct {
	key    string // objectKey of the object, where there are notes
	policy *index.Policy
	route  *index.Route
	other  *api.Object
	notes  []api.Note
	// nowhere are the items of the policy whose target is nowhere.
	nowhere []*index.Item
}

// nowhere are the items of a policy on which there is an error.
func nowhere(x mesh, p *index.Policy) []*index.Item {
	return slices.DeleteFunc(slices.Clone(p.Items), func(it *index.Item) bool {
		n, bad := itemNote(x, it, p.Object.Home())
		return !bad || n.Severity != api.Error
	})
}

// AllNotes works out the notes on all policies and routes of a mesh, so that asking for
// those on each of them costs no more than finding them.
func (q *Reader) AllNotes(mesh string) {
	if x, ok := q.mesh(mesh); ok {
		q.noted(x, mesh)
	}
}

// on is what there is to say on a policy or route.
func (m *meshNotes) on(o *api.Object) objectNotes {
	if n := m.byObject[o]; n != nil {
		return *n
	}
	return objectNotes{}
}

// NotesAt are the notes that concern one dataplane: those on itself, and those
// on policies and routes that are meant for it but do not come to apply.
func (q *Reader) NotesAt(dp api.Ref) []api.Note {
	x, ok := q.mesh(dp.Mesh)
	if !ok {
		return nil
	}
	p, _ := x.Dataplanes.Get(x.At, index.ObjectKey(dp))
	if p == nil {
		return nil
	}
	notes := slices.Concat(dataplaneNotes(x, p), q.strangerNotes(x, p), q.stage.NotesOf(q.cluster, dp))
	for _, n := range q.noted(x, dp.Mesh).list {
		if !q.visit() {
			break
		}
		if n.policy != nil && meantFor(x, n.policy, p) || n.route != nil && routeMeantFor(x, n.route, p) {
			notes = append(notes, n.notes...)
		}
	}
	return notes
}

// meantFor reports whether a policy's selectors other than a route ref that
// leads nowhere reach the dataplane.
func meantFor(x mesh, o *index.Policy, p *index.Dataplane) bool {
	if x.AuthorizesRoutes(o) {
		on, _ := x.PolicyRoutes.Get(x.At, index.ObjectKey(o.Object.Ref))
		return on == nil || len(on.Routes) == 0 || x.JudgesDataplane(o, index.ObjectKey(p.Object.Ref))
	}
	selectors := x.policySelectors(o)
	return o.TopRoute != nil && len(selectors) == 0 || anySelects(selectors, p)
}

// routeMeantFor reports whether a route selects the dataplane, and is about
// something that it calls.
func routeMeantFor(x mesh, r *index.Route, p *index.Dataplane) bool {
	return !r.Object.Shadow() && r.Selector.Selects(&p.Facts) && x.callsOneOf(p, r)
}

func (m mesh) callsOneOf(p *index.Dataplane, o *index.Route) bool {
	list, _ := m.Calls.Get(m.At, index.ObjectKey(p.Object.Ref))
	if slices.ContainsFunc(o.Parsed.Entries, func(e route.Entry) bool {
		return e.To.Kind == api.KindHost && m.CallsHost(index.ObjectKey(p.Object.Ref), e.To)
	}) {
		return true
	}
	return list != nil && slices.ContainsFunc(list.List, func(c reachability.Call) bool {
		return c.Dest != nil && slices.ContainsFunc(o.Parsed.Entries, func(e route.Entry) bool {
			return matcher.Destination(e.To, o.Object.Home(), &c.Dest.Facts)
		})
	})
}
