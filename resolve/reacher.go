package resolve

import (
	"iter"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
)

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

// outboundKey names the place of an outbound; outbounds with an equal one are alike.
type outboundKey struct {
	table *Table
	tcp   *TCPTable
	ps    **policies.Effective
}

// clusterKey names the place of a cluster, whoever answers behind it.
type clusterKey struct {
	cluster         *Cluster
	connectionsOnly bool
}

type reacher struct {
	q       *Reader
	mesh    mesh
	numbers map[api.Ref]int
	out     []*Reach
	// about are the destinations that the objects are about; all says that one is
	// about every destination.
	about map[*Destination][]want
	all   bool
	among map[string]bool // keys of the candidates
	// everybody says that all dataplanes are looked at.
	everybody bool
	// The objects at a place.
	outbounds map[outboundKey][]present
	clusters  map[clusterKey][]present
	inbounds  map[*Inbound][]present
	here      []Presence // of every object at the present dataplane
	touched   []int
	tell      Holder
}

func newReacher(q *Reader, m mesh, refs []api.Ref, tell Holder) *reacher {
	x := &reacher{q: q, mesh: m, numbers: map[api.Ref]int{}, about: map[*Destination][]want{}, among: map[string]bool{}, here: make([]Presence, len(refs)), tell: tell,
		outbounds: map[outboundKey][]present{}, clusters: map[clusterKey][]present{}, inbounds: map[*Inbound][]present{}}
	for i, ref := range refs {
		x.numbers[ref] = i
		x.out = append(x.out, &Reach{Ref: ref, Entries: map[api.Path]*Entry{}})
	}
	return x
}

// candidates yields the dataplanes of the mesh of that name that may have to do with
// the objects, in the order of their keys.
func (x *reacher) candidates(name string, refs []api.Ref) iter.Seq2[string, *Resolved] {
	m, served := x.mesh, map[string]bool{}
	planes := x.q.snapshot.Count(api.KindDataplane, name)
	x.everybody = len(refs) >= manyObjects && planes <= candidatesPerObject*len(refs)
	for n, ref := range refs {
		if r := m.route(ref); r != nil {
			x.wanted(n, r, []*matcher.Selector{r.selector}, nil)
			continue
		}
		p := m.policy(ref)
		if p == nil {
			continue
		}
		if len(p.inbound) > 0 && !x.everybody && !served[p.selector.Key] {
			served[p.selector.Key] = true
			for p := range m.selecting(p.selector) {
				x.among[objectKey(p.object.Ref)] = true
			}
		}
		for _, it := range p.items {
			x.item(n, it)
		}
	}
	if x.all || x.everybody {
		return m.resolved.All(m.at)
	}
	return func(yield func(string, *Resolved) bool) {
		for _, key := range slices.Sorted(maps.Keys(x.among)) {
			if r, _ := m.resolved.Get(m.at, key); r != nil && (!x.q.visit() || !yield(key, r)) {
				return
			}
		}
	}
}

// Of so many objects, and for so many dataplanes an object, it costs less to look at
// every dataplane than to find out which have to do with the objects.
const (
	manyObjects         = 64
	candidatesPerObject = 4
)

// item notes what an item of to is about.
func (x *reacher) item(n int, it *item) {
	home := it.policy.object.HomeNamespace()
	ref := it.routeRef()
	if ref == nil {
		if it.target.Kind == api.KindMesh {
			x.all = true
			return
		}
		for d := range x.mesh.destsNamed(targetName(it.target)) {
			if it.selects(&d.facts) {
				x.callers(d)
			}
		}
		return
	}
	for r := range x.mesh.selectedRoutes(*ref, home) {
		selectors := []*matcher.Selector{it.policy.selector}
		if it.policy.topRoute != nil {
			selectors = []*matcher.Selector{r.selector}
		}
		x.wanted(n, r, selectors, it)
	}
}

// callers adds the dataplanes that call or send to a destination, and those who
// want something of it.
func (x *reacher) callers(d *dest, wants ...want) {
	known, about := x.about[d.Destination]
	x.about[d.Destination] = append(known, wants...)
	if about || x.everybody {
		return
	}
	for class := range x.mesh.classesOf(d) {
		for key := range x.mesh.byClass.Keys(x.mesh.at, class) {
			x.among[key] = true
		}
	}
	for cluster := range x.mesh.byCluster.Buckets(x.mesh.at, classKey(d.ID, "")) {
		for key := range x.mesh.byCluster.Keys(x.mesh.at, cluster) {
			x.among[key] = true
		}
	}
}

// wanted notes the destinations of a route; with an item attached to it, those
// that the item is about too.
func (x *reacher) wanted(n int, r *routeObject, selectors []*matcher.Selector, it *item) {
	if r.object.Shadow() {
		return
	}
	x.wantedBy(n, r, r, selectors, it)
	for by := range x.mesh.readers(r.object.Ref) { // which may include its rules
		x.wantedBy(n, by, r, selectors, it)
	}
}

// wantedBy notes the destinations of the entries of by, which may have rules of r.
func (x *reacher) wantedBy(n int, by, r *routeObject, selectors []*matcher.Selector, it *item) {
	for i := range by.opinion.Entries {
		e := &by.opinion.Entries[i]
		for d := range x.mesh.destsOf(e) {
			if !matcher.Destination(e.To, by.object.HomeNamespace(), &d.facts) || it != nil && !it.attaches(r, &d.facts) {
				continue
			}
			x.callers(d, want{n, selectors})
		}
	}
}

// dataplane finds out what became of the objects on one. It looks only at places
// of what the objects are about.
func (x *reacher) dataplane(key string, r *Resolved) {
	var p *dataplane // once somebody asks for it
	for _, o := range r.Outbounds {
		wants, about := x.about[o.Destination]
		if !about && !x.all {
			continue
		}
		for _, w := range wants {
			if p == nil {
				p = need(x.mesh.dataplanes, x.mesh.at, key)
			}
			if anySelects(w.selectors, p) {
				x.is(w.number, Lacks)
			}
		}
		key := outboundKey{table: o.Table, tcp: o.TCP}
		if len(o.Policies) > 0 {
			key.ps = &o.Policies[0]
		}
		mark(x, x.outbounds, key, Place{At: r, Outbound: o})
	}
	for i := range r.Clusters {
		c := &r.Clusters[i]
		if _, about := x.about[c.Destination]; about || x.all {
			mark(x, x.clusters, clusterKey{c.Cluster, c.ConnectionsOnly}, Place{At: r, Cluster: c})
		}
	}
	for _, in := range r.Inbounds {
		if len(in.Policies) > 0 {
			mark(x, x.inbounds, in, Place{At: r, Inbound: in})
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

// mark notes the objects that are attached to a place.
func mark[K comparable](x *reacher, known map[K][]present, key K, p Place) {
	found, ok := known[key]
	if !ok {
		x.q.visit()
		found = x.look(p)
		known[key] = found
	}
	for _, f := range found {
		x.is(f.number, f.how)
	}
}

// look finds the objects that are attached to a place, and takes down how their
// entries fare.
func (x *reacher) look(p Place) []present {
	at := p.attached()
	if at.failure != nil {
		x.q.failed = append(x.q.failed, p)
	}
	list := at.list
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
