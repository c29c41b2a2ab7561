package conditions

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/route"
)

// Notes is what there is to say on the policies and routes of a mesh, or on the others. Most of
// them are as they should be, and are in neither list nor byObject.
type Notes struct {
	List     []*ObjectNotes // in the order of refs
	byObject map[*api.Object]*ObjectNotes
	told     map[string]*toldOf // every one, by objectKey
}

// ObjectNotes are the notes on a policy, on a route, or on another object.
type ObjectNotes struct {
	key    string // objectKey of the object, where there are notes
	Policy *index.Policy
	Route  *index.Route
	other  *api.Object
	Notes  []api.Note
	// Nowhere are the items of the policy whose target is nowhere.
	Nowhere []*index.Item
}

// nowhere are the items of a policy on which there is an error.
func nowhere(x Mesh, p *index.Policy) []*index.Item {
	return slices.DeleteFunc(slices.Clone(p.Items), func(it *index.Item) bool {
		n, bad := itemNote(x, it, p.Object.Home())
		return !bad || n.Severity != api.Error
	})
}

// On is what there is to say on a policy or route.
func (m *Notes) On(o *api.Object) ObjectNotes {
	if n := m.byObject[o]; n != nil {
		return *n
	}
	return ObjectNotes{}
}

// MeantFor reports whether a policy's selectors other than a route ref that
// leads nowhere reach the dataplane.
func MeantFor(x Mesh, o *index.Policy, p *index.Dataplane) bool {
	if x.AuthorizesRoutes(o) {
		on, _ := x.PolicyRoutes.Get(x.At, index.ObjectKey(o.Object.Ref))
		return on == nil || len(on.Routes) == 0 || x.JudgesDataplane(o, index.ObjectKey(p.Object.Ref))
	}
	selectors := x.policySelectors(o)
	return o.TopRoute != nil && len(selectors) == 0 || AnySelects(selectors, p)
}

// RouteMeantFor reports whether a route selects the dataplane, and is about
// something that it calls.
func RouteMeantFor(x Mesh, r *index.Route, p *index.Dataplane) bool {
	return !r.Object.Shadow() && r.Selector.Selects(&p.Facts) && x.callsOneOf(p, r)
}

func (m Mesh) callsOneOf(p *index.Dataplane, o *index.Route) bool {
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
