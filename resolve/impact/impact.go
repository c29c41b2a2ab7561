// Package impact is where policies and routes have an effect: at which outbounds, clusters and inbounds
// of which dataplanes, and which of their fields act there.
package impact

import (
	"iter"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/services"
)

type analyzer struct {
	q       Query
	mesh    dataplanes.Mesh
	numbers map[api.Ref]int
	out     []*Impact
	// wants are what each object may be missing at; about are the destinations of all of
	// them, and all says that one is about every destination.
	wants  [][]want
	about  map[*effective.Destination]bool
	all    bool
	routes map[*index.Route][]destined // their destinations
	among  map[string]bool             // keys of the candidates
	// edges are the objects that say where an edge dataplane listens, by its key.
	edges map[string][]int
	// everybody says that all dataplanes are looked at, and firsts that of those with equal
	// places the first is enough, for nobody asks who they are.
	everybody, firsts bool
	*Placements
	attached [][]attachedPlacement // of every object
	facts    []*index.Dataplane    // of the dataplanes
	here     []Presence            // of every dataplane, for one object
	touched  []int32
}

// attachedPlacement is a place that an object is attached to.
type attachedPlacement struct {
	*placement
	how Presence
}

// want is a destination that an object is attached to by a route, or has routes for: it
// is missing where a dataplane that one of the selectors selects calls the destination
// and does not have it.
type want struct {
	to        *effective.Destination
	selectors []*matcher.Selector
	among     *matcher.Selector // alone; nil for all
}

// destined is a destination at which there may be rules of a route, and for which
// dataplanes.
type destined struct {
	*services.Destination
	among *matcher.Selector // nil for all
}

func newAnalyzer(q Query, m dataplanes.Mesh, refs []api.Ref) *analyzer {
	x := &analyzer{q: q, mesh: m, numbers: make(map[api.Ref]int, len(refs)), out: make([]*Impact, len(refs)), wants: make([][]want, len(refs)), about: map[*effective.Destination]bool{}, among: map[string]bool{}, edges: map[string][]int{}, routes: map[*index.Route][]destined{}, attached: make([][]attachedPlacement, len(refs))}
	all := make([]Impact, len(refs)) // one allocation for many objects
	for i, ref := range refs {
		x.numbers[ref], x.out[i] = i, &all[i]
		all[i].Ref = ref
	}
	return x
}

// find finds the places of the dataplanes of the mesh of that name that may have to do
// with the objects.
func (x *analyzer) find(refs []api.Ref) {
	m, served := x.mesh, map[string]bool{}
	for n, ref := range refs {
		if r := m.Route(ref); r != nil {
			x.wanted(n, r, []*matcher.Selector{r.Selector}, nil)
			for p := range m.EdgesNamed(r.Parsed.Edges) {
				key := index.ObjectKey(p.Object.Ref)
				x.among[key] = true
				x.edges[key] = append(x.edges[key], n)
			}
			continue
		}
		p := m.Policy(ref)
		if p == nil {
			continue
		}
		if m.AuthorizesRoutes(p) {
			for at := range m.PlacementsOf(p) {
				x.among[at.Plane] = true
			}
			continue
		}
		if len(p.Inbound) > 0 && !x.everybody && !served[p.Selector.Key] {
			served[p.Selector.Key] = true
			for p := range m.Selecting(p.Selector) {
				x.among[index.ObjectKey(p.Object.Ref)] = true
			}
		}
		for _, it := range p.Items {
			x.item(n, it)
		}
	}
	if x.all || x.everybody {
		x.Placements = x.q.All()
		return
	}
	x.Placements = PlacementsOf(x.candidates(), func(d *effective.Destination) bool { return x.about[d] })
}

// candidates yields the dataplanes that may have to do with the objects, in the order
// of their keys.
func (x *analyzer) candidates() iter.Seq2[string, *effective.Resolved] {
	return func(yield func(string, *effective.Resolved) bool) {
		for _, key := range slices.Sorted(maps.Keys(x.among)) {
			if r, _ := x.mesh.Resolved.Get(x.mesh.At, key); r != nil && (!x.q.Visit() || !yield(key, r)) {
				return
			}
		}
	}
}

// looksAtAll reports whether all dataplanes are looked at. The places of all are known where somebody
// asked before, so that whoever wants to know of many objects what became of them, and not on which
// dataplanes, looks at those.
func (x *analyzer) looksAtAll(refs []api.Ref, tell Visitor) bool {
	if len(refs) < manyObjects {
		return false
	}
	return tell == nil || x.q.Dataplanes <= candidatesPerObject*len(refs)
}

// Of so many objects, and for so many dataplanes an object, it costs less to look at
// every dataplane than to find out which have to do with the objects.
const (
	manyObjects         = 64
	candidatesPerObject = 4
)

// item notes what an item of to is about.
func (x *analyzer) item(n int, it *index.Item) {
	home := it.Policy.Object.Home()
	ref := it.RouteRef()
	if ref == nil {
		if it.Target.Kind == api.KindMesh {
			x.all = true
			return
		}
		for d := range x.mesh.DestinationsNamed(index.TargetName(it.Target)) {
			if it.Selects(&d.Facts) {
				x.callers(d)
			}
		}
		return
	}
	for r := range x.mesh.SelectedRoutes(ref, home) {
		selectors := []*matcher.Selector{it.Policy.Selector}
		if it.Policy.TopRoute != nil {
			selectors = []*matcher.Selector{r.Selector}
		}
		x.wanted(n, r, selectors, it)
	}
}

// callers adds the dataplanes that call or send to a destination.
func (x *analyzer) callers(d *services.Destination) {
	if x.about[d.Destination] {
		return
	}
	for _, form := range d.Forms() {
		x.about[form] = true
	}
	if x.everybody {
		return
	}
	for class := range x.mesh.ClassesOf(d) {
		x.add(x.mesh.PlanesOf(class), x.firsts)
	}
	for cluster := range x.mesh.ByCluster.Buckets(x.mesh.At, reachability.ClassKey(d.Key, "")) {
		alike := least(x.mesh.ByConnections.Keys(x.mesh.At, cluster)) == ""
		x.add(x.mesh.ByCluster.Keys(x.mesh.At, cluster), x.firsts && alike)
	}
}

// add adds dataplanes by their keys; where their places at the destination are alike and that is
// asked for, the first of them alone. One of which something failed stands for nobody.
func (x *analyzer) add(planes iter.Seq[string], first bool) {
	if first {
		key := least(planes)
		if r, _ := x.mesh.Resolved.Get(x.mesh.At, key); r != nil && r.Failed == "" {
			x.among[key] = true
			return
		}
	}
	for key := range planes {
		x.among[key] = true
	}
}

// wanted notes the destinations of a route; with an item attached to it, those
// that the item is about too.
func (x *analyzer) wanted(n int, r *index.Route, selectors []*matcher.Selector, it *index.Item) {
	if r.Object.Shadow() {
		return
	}
	for _, d := range x.destinations(r) {
		if it == nil || it.Attaches(r, &d.Facts) {
			x.callers(d.Destination)
			for _, form := range d.Forms() {
				x.wants[n] = append(x.wants[n], want{form, selectors, d.among})
			}
		}
	}
}

// destinations are those at which there may be rules of r: of its own entries, and of
// those of routes that may include it.
func (x *analyzer) destinations(r *index.Route) []destined {
	if known, ok := x.routes[r]; ok {
		return known
	}
	var out []destined
	add := func(by *index.Route) {
		for i := range by.Parsed.Entries {
			e := &by.Parsed.Entries[i]
			for d := range x.mesh.DestinationsOf(e) {
				if matcher.Destination(e.To, by.Object.Home(), &d.Facts) {
					out = append(out, destined{d, by.AmongEdges(e)})
				}
			}
			for d := range x.mesh.DestsBelow(e) {
				out = append(out, destined{d, by.AmongEdges(e)})
			}
		}
	}
	add(r)
	for by := range x.mesh.Readers(r.Object.Ref) {
		add(by)
	}
	x.routes[r] = out
	return out
}

// least is the first of keys in their order; empty where there are none.
func least(keys iter.Seq[string]) (first string) {
	for key := range keys {
		if first == "" || key < first {
			first = key
		}
	}
	return first
}
