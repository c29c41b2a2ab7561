package conditions

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/route"
)

// Unresolvable is the code of what a bug in weft keeps from being resolved.
const Unresolvable = "Unresolvable"

// noGateways is said of policies for a kind that is stored only.
const noGateways = "weft has no MeshGateway; use an edge dataplane (networking.gateway.type BUILTIN) and target it as Dataplane"

// PolicyNotes finds the targets of a policy that are not there.
func PolicyNotes(x Mesh, p *index.Policy) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: p.Object.Ref}
	spec := p.Object.Spec.(*policies.Spec)
	home := p.Object.Home()
	top := api.Path("spec.targetRef")
	if t := spec.Top(); t.Kind == api.KindMeshGateway {
		notes = append(notes, api.Notef(origin, api.Error, "TargetNotFound", top, noGateways))
	}
	if p.TopRoute != nil {
		if lost := routeLost(x, *p.TopRoute, home); lost != "" {
			return append(notes, api.Notef(origin, api.Error, "TargetNotFound", top, "%s", lost))
		}
	}
	if n, nothing := selectsNone(x, spec.Top(), p.Selector, origin); nothing {
		notes = append(notes, n)
	}
	if p.Section != "" && missesEveryInbound(x, p) {
		notes = append(notes, api.Notef(origin, api.Error, "TargetNotFound", top.Field("sectionName"),
			"no selected dataplane has an inbound %q, so nothing is configured; name an inbound, or its port", p.Section))
	}
	for _, it := range p.Items {
		if n, bad := itemNote(x, it, home); bad {
			notes = append(notes, n)
		}
	}
	notes = append(notes, collectorNotes(x, p)...)
	notes = append(notes, RouteAuthorizationNotes(x, p)...)
	notes = append(notes, VoidNotes(x, p)...)
	notes = append(notes, enforcedNotes(x, p)...)
	for _, it := range p.Inbound {
		notes = append(notes, callersNotes(x, it)...)
	}
	return notes
}

// itemNote says why an item of to applies nowhere.
func itemNote(x Mesh, it *index.Item, home api.Home) (api.Note, bool) {
	at := it.Field.Field("targetRef")
	if it.Policy.TopRoute == nil && it.Target.IsRoute() {
		if lost := routeLost(x, it.Target, home); lost != "" {
			return api.Notef(it.Origin, api.Error, "TargetNotFound", at, "%s", lost), true
		}
		if missesEveryone(x, it, home) {
			what := index.RefText(it.Target)
			if it.Target.SectionName != "" {
				what = fmt.Sprintf("rule %q of %s", it.Target.SectionName, what)
			}
			return api.Notef(it.Origin, api.Error, "TargetNotFound", at, "%s is on none of the dataplanes that spec.targetRef selects, so nothing is configured; name it in spec.targetRef to follow it wherever it is", what), true
		}
		return api.Note{}, false
	}
	if it.Target.Kind == api.KindMesh {
		return api.Note{}, false
	}
	if it.Policy.TopRoute != nil && !onRoute(x, it, home) {
		return api.Notef(it.Origin, api.Error, "TargetNotFound", at, "%s is no destination of %s, so nothing is configured; %s",
			index.RefText(it.Target), index.RefText(*it.Policy.TopRoute), destinationsOf(x, it, home)), true
	}
	lost := destinationLost(x, it.Target, home)
	return api.Notef(it.Origin, api.Warning, "TargetNotFound", at, "%s", lost), lost != ""
}

// DataplaneNotes is what there is to say on a dataplane.
func DataplaneNotes(x Mesh, p *index.Dataplane) []api.Note {
	var notes []api.Note
	origin := p.Origin()
	if r, _ := x.Resolved.Get(x.At, index.ObjectKey(p.Object.Ref)); r != nil && r.Failed != "" {
		notes = append(notes, api.Notef(origin, api.Error, Unresolvable, "", "a bug in weft keeps a part of what applies to it from being known, and its sidecar keeps what it has of that; report it: %s", r.Failed))
	}
	notes = append(notes, listenerNotes(x, p)...)
	notes = append(notes, identityNotes(x, p)...)
	notes = append(notes, membershipNotes(x, p)...)
	notes = append(notes, serverFirstNotes(x, p)...)
	notes = append(notes, reachNotes(x, p)...)
	list, _ := x.Calls.Get(x.At, index.ObjectKey(p.Object.Ref))
	if list == nil {
		list = &reachability.Calls{}
	}
	for _, c := range list.List {
		if c.Unresolved != nil && c.Dest != nil {
			notes = append(notes, api.Notef(origin, api.Warning, c.Unresolved.Code, c.Field(p), "%s; routes for it do what they say, and what goes to itself fails until somebody answers for it", lostText(c.Unresolved, x)))
		} else if c.Unresolved != nil {
			notes = append(notes, api.Notef(origin, api.Error, c.Unresolved.Code, c.Field(p), "%s; the outbound gets no listener", lostText(c.Unresolved, x)))
		}
	}
	for i := range p.Spec.Networking.Outbound {
		if tags := p.Spec.Networking.Outbound[i].Tags; len(tags) > 1 {
			at := api.Path("networking.outbound").Index(i).Field("tags")
			notes = append(notes, api.Notef(origin, api.Warning, "UnsupportedValue", at, "only %s chooses the destination of an outbound; choose a subset by a MeshHTTPRoute with MeshServiceSubset", api.TagService))
		}
	}
	return notes
}

func serviceNotes(x Mesh, s *index.Service) []api.Note {
	var notes []api.Note
	for i, d := range s.Dests {
		if owner, _ := x.OwnerOf(d.ID); owner != s {
			at := api.Path("spec.ports").Index(i)
			notes = append(notes, api.Notef(&api.Origin{Ref: s.Object.Ref}, api.Error, api.CodeConflicted, at, "%s is %s already, by its display name and namespace, so this one is not called; give each its own name", d.ID, owner.Object.Ref))
		}
	}
	notes = slices.Concat(notes, vipNotes(x, s), nameNotes(x, s))
	if spec, ok := s.Object.Spec.(*api.Service); ok {
		return append(notes, protocolNotes(s.Object, spec)...)
	}
	spec, ok := s.Object.Spec.(*api.MeshService)
	if !ok || index.GatherTarget(spec.Selector) != "" {
		return notes
	}
	return append(notes, api.Notef(&api.Origin{Ref: s.Object.Ref}, api.Warning, "NoSelector", "spec.selector", "without a selector the service has no endpoints; select dataplanes by labels, tags or name"))
}

// What there is to say on the objects of a mesh is made on demand: no update works any of it out.

// ObjectNotes are the notes on a policy, on a route, or on another object.
type ObjectNotes struct {
	Policy *index.Policy
	Route  *index.Route
	Notes  []api.Note // some
	// Nowhere are the items of the policy whose target is nowhere.
	Nowhere []*index.Item
}

// The names of what is made on demand.
type (
	attachedNotes struct{}
	otherNotes    struct{}
)

// Attached are the notes on policies and routes, of those on which there are some.
func (m Mesh) Attached() derive.OnDemand[ObjectNotes] {
	return derive.OnDemand[ObjectNotes]{Name: attachedNotes{}, Over: derive.Union(m.Policies, m.Routes), Make: func(at derive.At, key string) *ObjectNotes {
		x, n := Mesh{m.Stage.Mesh(at)}, ObjectNotes{}
		if n.Policy, _ = x.Policies.Get(at, key); n.Policy != nil {
			n.Notes = PolicyNotes(x, n.Policy)
		} else if n.Route, _ = x.Routes.Get(at, key); n.Route != nil {
			n.Notes = slices.Concat(n.Route.Parsed.Notes, RouteNotes(x, n.Route))
		}
		if len(n.Notes) == 0 {
			return nil
		}
		if n.Policy != nil {
			n.Nowhere = nowhere(x, n.Policy)
		}
		return &n
	}}
}

// Others are the notes on dataplanes, services, and objects of identity, of those on which there are some.
func (m Mesh) Others() derive.OnDemand[ObjectNotes] {
	return derive.OnDemand[ObjectNotes]{Name: otherNotes{}, Over: derive.Union(m.Dataplanes, m.Services, m.OtherObjects), Make: func(at derive.At, key string) *ObjectNotes {
		if notes := otherNotesOn(Mesh{m.Stage.Mesh(at)}, key); len(notes) > 0 {
			return &ObjectNotes{Notes: notes}
		}
		return nil
	}}
}

func otherNotesOn(x Mesh, key string) []api.Note {
	if o, _ := x.OtherObjects.Get(x.At, key); o != nil {
		switch spec := o.Spec.(type) {
		case *api.MeshTrust:
			return trustNotes(x, o, spec)
		case *api.MeshIdentity:
			return fallbackNotes(x, o)
		}
		return nil
	}
	if p, _ := x.Dataplanes.Get(x.At, key); p != nil {
		return DataplaneNotes(x, p)
	}
	if s, _ := x.Services.Get(x.At, key); s != nil {
		return serviceNotes(x, s)
	}
	return nil
}

// nowhere are the items of a policy on which there is an error.
func nowhere(x Mesh, p *index.Policy) []*index.Item {
	return slices.DeleteFunc(slices.Clone(p.Items), func(it *index.Item) bool {
		n, bad := itemNote(x, it, p.Object.Home())
		return !bad || n.Severity != api.Error
	})
}

// MeantFor reports whether a policy's selectors other than a route ref that
// leads nowhere reach the dataplane.
func MeantFor(x Mesh, o *index.Policy, p *index.Dataplane) bool {
	if x.AuthorizesRoutes(o) {
		on, _ := x.PolicyRoutes.Get(x.At, index.ObjectKey(o.Object.Ref))
		return on == nil || len(on.Routes) == 0 || x.AuthorizesDataplane(o, index.ObjectKey(p.Object.Ref))
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
