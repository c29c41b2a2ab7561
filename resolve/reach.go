package resolve

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
)

// Reach is what became of one policy or route at all places together.
type Reach struct {
	Ref     api.Ref
	Entries map[api.Path]*Entry // those that are attached somewhere
	// Places are where it is attached, each shared value once.
	Places []Place
}

// Entry is what became of one entry at all places together: what it comes to is
// Partly if it has its effect somewhere and not everywhere.
type Entry struct {
	Acts, Idle uint32        // as in Attachment, at one place at least
	By         []*api.Origin // who stands in its place, each once
	Why        string        // why its first field without effect has none
}

// Place is a value that an object is attached to, at one of the dataplanes that
// share it. One of the last three is set.
type Place struct {
	At       *Resolved
	Outbound *Outbound
	Cluster  *Cluster
	Inbound  *Inbound
}

// State is what the entry comes to.
func (e *Entry) State() State {
	a := Attachment{Acts: e.Acts, Idle: e.Idle &^ e.Acts}
	if len(e.By) > 0 {
		a.By = e.By[0]
	}
	return a.State()
}

// IdleFields are the numbers of the fields of an entry that have an effect nowhere.
func (e *Entry) IdleFields() []int {
	var out []int
	for rest := e.Idle &^ e.Acts; rest != 0; rest &= rest - 1 {
		out = append(out, bits.TrailingZeros32(rest))
	}
	return out
}

// Acting reports whether something of the object has its effect somewhere.
func (x *Reach) Acting() bool {
	for _, e := range x.Entries {
		if e.Acts != 0 {
			return true
		}
	}
	return false
}

// Presence is what became of an object on one dataplane on which it has something
// to do.
type Presence uint8

// The presences.
const (
	none  Presence = iota
	Lacks          // the dataplane calls what it is about, and does not have it
	Loses          // it takes part, and nothing of it acts
	Acts           // something of it acts
)

// Holder is told what became of the n-th object on a dataplane.
type Holder func(n int, r *Resolved, p Presence)

// ReachOf follows policies and routes of one mesh to the dataplanes that they
// concern, each once and in the order of refs. Its cost follows what the objects
// are about: who calls their destinations, or has inbounds that they select.
func (q *Reader) ReachOf(mesh string, refs []api.Ref, tell Holder) []*Reach {
	x := &reacher{q: q, numbers: map[api.Ref]int{}, wants: map[string][]want{}, known: map[any][]present{}, tell: tell}
	for i, ref := range refs {
		x.numbers[ref] = i
		x.out = append(x.out, &Reach{Ref: ref, Entries: map[api.Path]*Entry{}})
	}
	x.here = make([]Presence, len(refs))
	m, ok := q.meshes.Get([]byte(mesh))
	if !ok {
		return x.out
	}
	x.mesh = m
	for _, p := range x.candidates(refs) {
		if !q.visit() {
			break
		}
		x.dataplane(p)
	}
	return x.out
}

// want is an object that is attached to a destination by a route, or is one: it
// may be missing where a dataplane that it selects calls the destination.
type want struct {
	number    int
	selectors []*matcher.Selector
}

// present is an object at a place.
type present struct {
	number int
	how    Presence
}

// placeKey names the place of an outbound.
type placeKey struct {
	table any
	ps    **policies.Effective
}

type reacher struct {
	q       *Reader
	mesh    *mesh
	numbers map[api.Ref]int
	out     []*Reach
	wants   map[string][]want // by id of a destination
	known   map[any][]present // the objects at a place
	here    []Presence        // of every object at the present dataplane
	touched []int
	tell    Holder
}

// candidates are the dataplanes that may have to do with the objects.
func (x *reacher) candidates(refs []api.Ref) []*planed {
	names, inbounds, all := set{}, []*matcher.Selector{}, false
	for n, ref := range refs {
		o, _ := x.mesh.objects.Get([]byte(objectKey(ref)))
		switch o := o.(type) {
		case *routeObject:
			x.wanted(n, o, []*matcher.Selector{o.selector}, names)
		case *policy:
			if len(o.inbound) > 0 {
				inbounds = append(inbounds, o.selector)
			}
			for _, it := range o.items {
				all = x.item(n, it, names) || all
			}
		}
	}
	if all {
		return collect(x.mesh.planes.Root().Iterator())
	}
	keys := set{}
	for name := range names {
		for key := range x.mesh.callers.of(name) {
			keys.add(key)
		}
	}
	if len(names) > 0 {
		for key := range x.mesh.callers.of(anyTarget) {
			keys.add(key)
		}
	}
	for _, s := range inbounds {
		for _, ref := range x.mesh.selectedBy([]*matcher.Selector{s}) {
			keys.add(objectKey(ref))
		}
	}
	var out []*planed
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if p, ok := x.mesh.planes.Get([]byte(key)); ok {
			out = append(out, p)
		}
	}
	return out
}

// item notes what an item of to is about; true for everything.
func (x *reacher) item(n int, it *item, names set) bool {
	home := it.policy.object.HomeNamespace()
	ref := it.routeRef()
	if ref == nil {
		if it.target.Kind == api.KindMesh {
			return true
		}
		for d := range x.mesh.destsNamed(targetName(it.target)) {
			if it.selects(&d.facts) {
				addNames(names, d)
			}
		}
		return false
	}
	for r := range selectedRoutes(x.mesh, *ref, home) {
		x.q.visit()
		selectors := []*matcher.Selector{it.policy.selector}
		if it.policy.topRoute != nil {
			selectors = []*matcher.Selector{r.selector}
		}
		x.wantedFor(n, r, selectors, names, it)
	}
	return false
}

func addNames(names set, d *dest) {
	for _, name := range d.names() {
		names.add(name)
	}
}

// wanted notes the destinations of a route.
func (x *reacher) wanted(n int, r *routeObject, selectors []*matcher.Selector, names set) {
	x.wantedFor(n, r, selectors, names, nil)
}

// wantedFor notes those that an item attached to the route is about too.
func (x *reacher) wantedFor(n int, r *routeObject, selectors []*matcher.Selector, names set, it *item) {
	if r.object.Shadow() {
		return
	}
	for i := range r.opinion.Entries {
		e := &r.opinion.Entries[i]
		for d := range x.mesh.destsNamed(targetName(e.To)) {
			if !matcher.Destination(e.To, r.object.HomeNamespace(), &d.facts) || it != nil && !it.attaches(r, &d.facts) {
				continue
			}
			addNames(names, d)
			x.wants[d.ID] = append(x.wants[d.ID], want{n, selectors})
		}
	}
}

func (x *reacher) dataplane(p *planed) {
	r := p.resolved
	for _, o := range r.Outbounds {
		for _, w := range x.wants[o.Destination.ID] {
			if anySelects(w.selectors, p.plane) {
				x.is(w.number, Lacks)
			}
		}
		var key any = o
		switch {
		case o.Table != nil:
			key = o.Table
		case o.TCP != nil:
			key = o.TCP
		}
		var ps **policies.Effective
		if len(o.Policies) > 0 {
			ps = &o.Policies[0]
		}
		x.at(placeKey{key, ps}, Place{At: r, Outbound: o})
	}
	for i := range r.Clusters {
		x.at(r.Clusters[i].Cluster, Place{At: r, Cluster: r.Clusters[i].Cluster})
	}
	for _, in := range r.Inbounds {
		if len(in.Policies) > 0 {
			x.at(in, Place{At: r, Inbound: in})
		}
	}
	for _, n := range x.touched {
		if x.tell != nil {
			x.tell(n, r, x.here[n])
		}
		x.here[n] = none
	}
	x.touched = x.touched[:0]
}

func (x *reacher) is(n int, p Presence) {
	if x.here[n] == none {
		x.touched = append(x.touched, n)
	}
	x.here[n] = max(x.here[n], p)
}

// at marks the objects that are attached to a place.
func (x *reacher) at(key any, p Place) {
	found, ok := x.known[key]
	if !ok {
		x.q.visit()
		found = x.look(p)
		x.known[key] = found
	}
	for _, f := range found {
		x.is(f.number, f.how)
	}
}

// look finds the objects that are attached to a place, and takes down how their
// entries fare.
func (x *reacher) look(p Place) []present {
	var list []Attachment
	switch {
	case p.Outbound != nil:
		list = p.Outbound.Attachments()
	case p.Cluster != nil:
		list = p.Cluster.Attachments()
	default:
		list = p.Inbound.Attachments()
	}
	if len(x.numbers) == 1 {
		list = attachmentsOn(list, x.out[0].Ref)
	}
	var out []present
	for i := range list {
		a := &list[i]
		n, asked := x.numbers[a.Entry.Ref]
		if !asked {
			continue
		}
		if len(out) == 0 || out[len(out)-1].number != n {
			out = append(out, present{n, Loses})
			x.out[n].Places = append(x.out[n].Places, p)
		}
		if a.Acts != 0 {
			out[len(out)-1].how = Acts
		}
		x.out[n].entry(a.Entry.Field).add(a, p)
	}
	return out
}

func (x *Reach) entry(field api.Path) *Entry {
	e := x.Entries[field]
	if e == nil {
		e = &Entry{}
		x.Entries[field] = e
	}
	return e
}

func (e *Entry) add(a *Attachment, p Place) {
	e.Acts, e.Idle = e.Acts|a.Acts, e.Idle|a.Idle
	if a.By != nil && !slices.ContainsFunc(e.By, a.By.Same) {
		e.By = append(e.By, a.By)
	}
	if a.Idle != 0 && e.Why == "" {
		e.Why = p.idle(a)
	}
}

// idle says why the first field without effect of an attachment has none.
func (p Place) idle(a *Attachment) string {
	field := bits.TrailingZeros32(a.Idle)
	find := func(list Policies, spoken api.Protocol) string {
		if e := list.Of(a.Entry.Kind); e != nil {
			return e.Idle(field, spoken)
		}
		return ""
	}
	switch {
	case p.Inbound != nil:
		return find(p.Inbound.Policies, p.Inbound.Protocol)
	case p.Cluster != nil:
		return find(p.Cluster.Policies, p.Cluster.Destination.Protocol)
	case p.Outbound.Table != nil:
		for _, r := range p.Outbound.Table.Routes {
			if why := find(r.Policies, p.Outbound.Destination.Protocol); why != "" {
				return why
			}
		}
	}
	return find(p.Outbound.Policies, p.Outbound.Destination.Protocol)
}
