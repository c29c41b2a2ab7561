package conditions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
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

// What there is to say on the policies and routes of a mesh is found out when somebody asks, and
// follows changes from then on: what each says is known by what it was found out from, and is
// found out again only where an update touched that. Nothing of it is worked out by the update.

// toldOf is what there is to say on a policy or route, nil for nothing, and by what that was
// found out.
type toldOf struct {
	notes *ObjectNotes
	reads []derive.Read // sorted, each once
}

// since is what was known of an earlier revision, and what updates touched and changed since.
type since struct {
	known   *Notes
	touched [][]derive.Read
	changed [][]string // keys of policies and routes
	size    int
}

// mostTouched is after how much that was touched what was known before is given up: nobody
// asks.
const mostTouched = 100_000

// Cache is what questions found out about the objects of a mesh at one revision.
type Cache struct {
	graph              *derive.Graph // the mesh
	since, othersSince *since        // nil where nobody has asked
	Noted, others      effective.Answer[Notes]
	words              effective.Findings // *names, by what they are the names of
}

// Next is what is known of the revision after an update.
func (a *Cache) Next(c dataplanes.Mesh, after *derive.Graph, d *derive.Delta) *Cache {
	out := &Cache{graph: after}
	noted, others := a.since.next(&a.Noted), a.othersSince.next(&a.others)
	if noted == nil && others == nil {
		return out
	}
	var touched []derive.Read
	if !d.Touched(func(r derive.Read) bool {
		touched = append(touched, r)
		return len(touched) <= mostTouched
	}) {
		return out
	}
	out.since = noted.with(touched, c.Policies.Changed(d), c.Routes.Changed(d))
	out.othersSince = others.with(touched, c.Dataplanes.Changed(d), c.Services.Changed(d), c.OtherObjects.Changed(d))
	return out
}

// next is the newest that is known, of the revision at hand or of an earlier one.
func (s *since) next(known *effective.Answer[Notes]) *since {
	if known := known.At.Load(); known != nil {
		return &since{known: known}
	}
	return s
}

// with is what is known, and that more was touched and changed; nil where nobody asked for long.
func (s *since) with(touched []derive.Read, changed ...[]string) *since {
	if s == nil || s.size+len(touched) > mostTouched {
		return nil
	}
	return &since{known: s.known, touched: append(slices.Clip(s.touched), touched), changed: append(slices.Clip(s.changed), changed...), size: s.size + len(touched)}
}

// AllNotes is what there is to say on all policies and routes of these kinds in a mesh, found out
// once for all questions about one revision. It is kept where whole says that the question was
// answered to its end.
func (m Mesh) AllNotes(kinds []string, whole func() bool) *Notes {
	a := m.Cache
	return a.Noted.Find(whole, func() *Notes {
		if a.since == nil {
			return m.findNotes(kinds)
		}
		return notesOf(a.since.follow(m.tell))
	})
}

// findNotes looks at all policies and routes.
func (x Mesh) findNotes(kinds []string) *Notes {
	told := map[string]*toldOf{}
	for _, kind := range kinds {
		for key := range x.PoliciesByKind.In(x.At, kind) {
			told[key] = x.tell(key)
		}
		for key := range x.RoutesByName.In(x.At, index.AnyOf(kind)) {
			told[key] = x.tell(key)
		}
	}
	return notesOf(told)
}

// follow tells again of what something was touched of since, and of what changed.
func (s *since) follow(tell func(key string) *toldOf) map[string]*toldOf {
	touched := newTouches(s.touched)
	told := maps.Clone(s.known.told)
	again := slices.Concat(s.changed...)
	for key, t := range told {
		if slices.ContainsFunc(t.reads, touched.has) {
			again = append(again, key)
		}
	}
	slices.Sort(again)
	for _, key := range slices.Compact(again) {
		if told[key] = tell(key); told[key] == nil {
			delete(told, key)
		}
	}
	return told
}

// touches are what was touched. Most that is looked for is none of it, which few bits tell.
type touches struct {
	all  map[derive.Read]struct{}
	bits [1 << 10]uint64
}

func newTouches(lists [][]derive.Read) *touches {
	t := &touches{all: map[derive.Read]struct{}{}}
	for _, list := range lists {
		for _, r := range list {
			t.all[r] = struct{}{}
			t.bits[r>>6%derive.Read(len(t.bits))] |= 1 << (r % 64)
		}
	}
	return t
}

func (t *touches) has(r derive.Read) bool {
	if t.bits[r>>6%derive.Read(len(t.bits))]&(1<<(r%64)) == 0 {
		return false
	}
	_, ok := t.all[r]
	return ok
}

// tell finds out what there is to say on a policy or route; nil where it is neither.
func (m Mesh) tell(key string) *toldOf {
	return m.recording(key, func(x Mesh) (n *ObjectNotes, ok bool) {
		n = &ObjectNotes{}
		if n.Policy, _ = x.Policies.Get(x.At, key); n.Policy != nil {
			if n.Notes = PolicyNotes(x, n.Policy); len(n.Notes) > 0 {
				n.Nowhere = nowhere(x, n.Policy)
			}
		} else if n.Route, _ = x.Routes.Get(x.At, key); n.Route != nil {
			n.Notes = slices.Concat(n.Route.Parsed.Notes, RouteNotes(x, n.Route))
		}
		return n, n.Policy != nil || n.Route != nil
	})
}

// recording tells of the object of a key with all that is asked for it; nil where it is not ok.
func (m Mesh) recording(key string, tell func(Mesh) (n *ObjectNotes, ok bool)) *toldOf {
	out := &toldOf{}
	n, ok := tell(Mesh{m.Stage.Mesh(derive.Recorded(m.At, func(r derive.Read) { out.reads = append(out.reads, r) })), m.Cache})
	if !ok {
		return nil
	}
	if len(n.Notes) > 0 {
		n.key, out.notes = key, n
	}
	slices.Sort(out.reads)
	out.reads = slices.Clip(slices.Compact(out.reads))
	return out
}

// notesOf puts what is told in order.
func notesOf(told map[string]*toldOf) *Notes {
	out := &Notes{byObject: map[*api.Object]*ObjectNotes{}, told: told}
	for _, t := range told {
		if t.notes != nil {
			out.List = append(out.List, t.notes)
			out.byObject[t.notes.object()] = t.notes
		}
	}
	slices.SortFunc(out.List, func(a, b *ObjectNotes) int {
		if c := cmp.Compare(a.object().Kind, b.object().Kind); c != 0 {
			return c
		}
		return cmp.Compare(a.key, b.key)
	})
	return out
}

// object is what the notes are on.
func (n *ObjectNotes) object() *api.Object {
	switch {
	case n.Policy != nil:
		return n.Policy.Object
	case n.Route != nil:
		return n.Route.Object
	}
	return n.other
}

// OtherNotes is what there is to say on all of them in a mesh.
func (x Mesh) OtherNotes(whole func() bool) *Notes {
	a := x.Cache
	return a.others.Find(whole, func() *Notes {
		if a.othersSince != nil {
			return notesOf(a.othersSince.follow(x.tellOther))
		}
		told := map[string]*toldOf{}
		for key := range x.Dataplanes.All(x.At) {
			told[key] = x.tellOther(key)
		}
		for key := range x.Services.All(x.At) {
			told[key] = x.tellOther(key)
		}
		for _, kind := range []string{api.KindMeshTrust, api.KindMeshIdentity} {
			for key := range x.ObjectsByKind[x.OtherObjects].In(x.At, kind) {
				told[key] = x.tellOther(key)
			}
		}
		return notesOf(told)
	})
}

// tellOther finds out what there is to say on one of them; nil where it is none.
func (m Mesh) tellOther(key string) *toldOf {
	return m.recording(key, func(x Mesh) (n *ObjectNotes, ok bool) {
		if o, _ := x.OtherObjects.Get(x.At, key); o != nil {
			switch spec := o.Spec.(type) {
			case *api.MeshTrust:
				return &ObjectNotes{other: o, Notes: trustNotes(x, o, spec)}, true
			case *api.MeshIdentity:
				return &ObjectNotes{other: o, Notes: fallbackNotes(x, o)}, true
			}
			return nil, false
		}
		if p, _ := x.Dataplanes.Get(x.At, key); p != nil {
			return &ObjectNotes{other: p.Object, Notes: DataplaneNotes(x, p)}, true
		}
		if s, _ := x.Services.Get(x.At, key); s != nil {
			return &ObjectNotes{other: s.Object, Notes: serviceNotes(x, s)}, true
		}
		return nil, false
	})
}

// NotesOnOther is what there is to say on one of them, found out now where nobody has asked for all.
func (m Mesh) NotesOnOther(key string) []api.Note {
	var t *toldOf
	if known := m.Cache.others.At.Load(); known != nil {
		t = known.told[key]
	} else {
		t = m.tellOther(key)
	}
	if t == nil || t.notes == nil {
		return nil
	}
	return t.notes.Notes
}

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
