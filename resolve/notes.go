package resolve

import (
	"fmt"
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Notes are worked out when somebody asks: they depend on what else there is,
// and keeping them would make every change cost as much as the mesh.

// Notes yields what there is to say about every object, in the order of refs.
func (m *Model) Notes() iter.Seq[api.Note] {
	return func(yield func(api.Note) bool) {
		q := m.Reader(nil)
		for o := range m.snapshot.All() {
			for _, n := range q.NotesOn(o.Ref) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// NotesOn are the notes on one object.
func (q *Reader) NotesOn(ref api.Ref) []api.Note {
	if !q.snapshot.Has(ref) {
		ref = q.stage.Placed(q.cluster, ref)
	}
	o, ok := q.snapshot.Get(ref)
	if !ok {
		return nil
	}
	if name := meshOf(ref); name != api.DefaultMesh && name != "" {
		if _, ok := q.snapshot.Get(api.Ref{Kind: api.KindMesh, Name: name}); !ok {
			return []api.Note{q.meshNote(ref)}
		}
	}
	notes := append(q.failureNotes(ref), q.clusterNotes(ref)...)
	if ref.Kind == api.KindPod {
		return append(notes, q.planeNotes(ref)...)
	}
	x, ok := q.mesh(meshOf(ref))
	if !ok {
		return notes
	}
	key := objectKey(ref)
	if why := x.keptOut(o); why != nil && o.From == nil && !q.IsRoute(ref.Kind) {
		return append(notes, *why)
	}
	if _, ok := o.Spec.(*api.MeshTrust); ok {
		return append(notes, x.otherNotes(key)...)
	}
	if known := q.asked(meshOf(ref)).noted.at.Load(); known != nil && x.attachable(ref.Kind) {
		return append(notes, known.on(o).notes...)
	}
	if p := x.policy(ref); p != nil {
		return append(notes, policyNotes(x, p)...)
	}
	if r := x.route(ref); r != nil {
		return slices.Concat(notes, r.opinion.Notes, routeNotes(x, r))
	}
	if p, _ := x.dataplanes.Get(x.at, key); p != nil {
		if p.object.From != nil { // they stand at the pod
			return notes
		}
		return slices.Concat(notes, x.otherNotes(key), q.strangerNotes(x, p))
	}
	return append(notes, x.otherNotes(key)...)
}

// meshNote says that an object's mesh is not there: no dataplane can join it.
func (m *Model) meshNote(ref api.Ref) api.Note {
	var names []string
	for o := range m.snapshot.Of(api.KindMesh, "") {
		names = append(names, o.Name)
	}
	return api.Notef(&api.Origin{Ref: ref}, api.Warning, "MeshNotFound", "mesh", "there is no Mesh %s%s", ref.Mesh, didYouMean(ref.Mesh, names))
}

// noGateways is said of policies for a kind that is stored only.
const noGateways = "weft has no MeshGateway; use an edge dataplane (networking.gateway.type BUILTIN) and target it as Dataplane"

// policyNotes finds the targets of a policy that are not there.
func policyNotes(x mesh, p *policy) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: p.object.Ref}
	spec := p.object.Spec.(*policies.Spec)
	home := p.object.Home()
	top := api.Path("spec.targetRef")
	if t := spec.Top(); t.Kind == api.KindMeshGateway {
		notes = append(notes, api.Notef(origin, api.Error, "TargetNotFound", top, noGateways))
	}
	if p.topRoute != nil {
		if lost := routeLost(x, *p.topRoute, home); lost != "" {
			return append(notes, api.Notef(origin, api.Error, "TargetNotFound", top, "%s", lost))
		}
	}
	if n, nothing := selectsNone(x, spec.Top(), p.selector, origin); nothing {
		notes = append(notes, n)
	}
	if p.section != "" && missesEveryInbound(x, p) {
		notes = append(notes, api.Notef(origin, api.Error, "TargetNotFound", top.Field("sectionName"),
			"no selected dataplane has an inbound %q, so nothing is configured; name an inbound, or its port", p.section))
	}
	for _, it := range p.items {
		if n, bad := itemNote(x, it, home); bad {
			notes = append(notes, n)
		}
	}
	notes = append(notes, judgedNotes(x, p)...)
	notes = append(notes, voidNotes(x, p)...)
	notes = append(notes, enforcedNotes(x, p)...)
	for _, it := range p.inbound {
		notes = append(notes, callersNotes(x, it)...)
	}
	return notes
}

// itemNote says why an item of to applies nowhere.
func itemNote(x mesh, it *item, home api.Home) (api.Note, bool) {
	at := it.field.Field("targetRef")
	if it.policy.topRoute == nil && it.target.IsRoute() {
		if lost := routeLost(x, it.target, home); lost != "" {
			return api.Notef(it.origin, api.Error, "TargetNotFound", at, "%s", lost), true
		}
		if missesEveryone(x, it, home) {
			what := refText(it.target)
			if it.target.SectionName != "" {
				what = fmt.Sprintf("rule %q of %s", it.target.SectionName, what)
			}
			return api.Notef(it.origin, api.Error, "TargetNotFound", at, "%s is on none of the dataplanes that spec.targetRef selects, so nothing is configured; name it in spec.targetRef to follow it wherever it is", what), true
		}
		return api.Note{}, false
	}
	if it.target.Kind == api.KindMesh {
		return api.Note{}, false
	}
	if it.policy.topRoute != nil && !onRoute(x, it, home) {
		return api.Notef(it.origin, api.Error, "TargetNotFound", at, "%s is no destination of %s, so nothing is configured; %s",
			refText(it.target), refText(*it.policy.topRoute), destinationsOf(x, it, home)), true
	}
	lost := destinationLost(x, it.target, home)
	return api.Notef(it.origin, api.Warning, "TargetNotFound", at, "%s", lost), lost != ""
}

func dataplaneNotes(x mesh, p *dataplane) []api.Note {
	var notes []api.Note
	origin := p.origin()
	if r, _ := x.resolved.Get(x.at, objectKey(p.object.Ref)); r != nil && r.Failed != "" {
		notes = append(notes, api.Notef(origin, api.Error, Unresolvable, "", "a bug in weft keeps a part of what applies to it from being known, and its sidecar keeps what it has of that; report it: %s", r.Failed))
	}
	notes = append(notes, listenerNotes(x, p)...)
	notes = append(notes, identityNotes(x, p)...)
	notes = append(notes, membershipNotes(x, p)...)
	notes = append(notes, serverFirstNotes(x, p)...)
	notes = append(notes, reachNotes(x, p)...)
	list, _ := x.calls.Get(x.at, objectKey(p.object.Ref))
	if list == nil {
		list = &calls{}
	}
	for _, c := range list.list {
		if c.lost != nil && c.dest != nil {
			notes = append(notes, api.Notef(origin, api.Warning, c.lost.code, c.field(p), "%s; routes for it do what they say, and what goes to itself fails until somebody answers for it", c.lost.text(x)))
		} else if c.lost != nil {
			notes = append(notes, api.Notef(origin, api.Error, c.lost.code, c.field(p), "%s; the outbound gets no listener", c.lost.text(x)))
		}
	}
	for i := range p.spec.Networking.Outbound {
		if tags := p.spec.Networking.Outbound[i].Tags; len(tags) > 1 {
			at := api.Path("networking.outbound").Index(i).Field("tags")
			notes = append(notes, api.Notef(origin, api.Warning, "UnsupportedValue", at, "only %s chooses the destination of an outbound; choose a subset by a MeshHTTPRoute with MeshServiceSubset", api.TagService))
		}
	}
	return notes
}

func serviceNotes(x mesh, s *service) []api.Note {
	var notes []api.Note
	for i, d := range s.dests {
		if owner, _ := x.ownerOf(d.ID); owner != s {
			at := api.Path("spec.ports").Index(i)
			notes = append(notes, api.Notef(&api.Origin{Ref: s.object.Ref}, api.Error, api.CodeConflicted, at, "%s is %s already, by its display name and namespace, so this one is not called; give each its own name", d.ID, owner.object.Ref))
		}
	}
	notes = slices.Concat(notes, vipNotes(x, s), nameNotes(x, s))
	if spec, ok := s.object.Spec.(*api.Service); ok {
		return append(notes, protocolNotes(s.object, spec)...)
	}
	spec, ok := s.object.Spec.(*api.MeshService)
	if !ok || gatherTarget(spec.Selector) != "" {
		return notes
	}
	return append(notes, api.Notef(&api.Origin{Ref: s.object.Ref}, api.Warning, "NoSelector", "spec.selector", "without a selector the service has no endpoints; select dataplanes by labels, tags or name"))
}
