package conditions

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
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
		if c.Lost != nil && c.Dest != nil {
			notes = append(notes, api.Notef(origin, api.Warning, c.Lost.Code, c.Field(p), "%s; routes for it do what they say, and what goes to itself fails until somebody answers for it", lostText(c.Lost, x)))
		} else if c.Lost != nil {
			notes = append(notes, api.Notef(origin, api.Error, c.Lost.Code, c.Field(p), "%s; the outbound gets no listener", lostText(c.Lost, x)))
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
