package connections

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/resolve"
)

// FleetCounts keeps what questions about all dataplanes would count: how many follow, which do not,
// and what insights of meshes say of them. Whoever changes something of a dataplane marks it,
// and the next question looks at those that are marked: its cost follows what has changed since
// the last one. Nothing is kept before the first question.
type FleetCounts struct {
	loop     *reconcile.Loop
	sidecars Sidecars
	root     func(api.Ref) string // of the certificate of a sidecar

	marks sync.Mutex // held for a moment, under whichever lock
	stale map[api.Ref]bool
	all   bool // everything is to be looked at

	mu       sync.Mutex // taken before those of the loop and of streams
	of       map[api.Ref]counted
	meshes   map[string]*tallies
	troubled map[api.Ref]bool
	looked   int // dataplanes that were looked at
}

// counted is what a dataplane is counted as.
type counted struct {
	state      inspect.State   // empty of one that does not exist
	networking *api.Networking // nil: no insight tells of it
	seen       insights.Seen
}

// tallies are the counts of one mesh.
type tallies struct {
	states   *inspect.Tally
	insights *insights.Tally
}

func NewFleetCounts(l *reconcile.Loop, s Sidecars, root func(api.Ref) string) *FleetCounts {
	return &FleetCounts{loop: l, sidecars: s, root: root, all: true}
}

// Mark has dataplanes looked at again.
func (c *FleetCounts) Mark(refs ...api.Ref) { c.During(func() {}, refs...) }

// During does something at once with the mark: who sees what it does finds the dataplanes
// marked.
func (c *FleetCounts) During(do func(), refs ...api.Ref) {
	if c == nil {
		do()
		return
	}
	c.marks.Lock()
	defer c.marks.Unlock()
	do()
	if c.all {
		return
	}
	for _, ref := range refs {
		c.stale[ref] = true
	}
}

// MarkAll has everything looked at again.
func (c *FleetCounts) MarkAll() {
	c.marks.Lock()
	defer c.marks.Unlock()
	c.all, c.stale = true, nil
}

// look brings the counts to what holds. It needs mu.
func (c *FleetCounts) look() {
	c.marks.Lock()
	stale, all := c.stale, c.all
	c.stale, c.all = map[api.Ref]bool{}, false
	c.marks.Unlock()
	m := c.loop.Current()
	if m == nil {
		c.MarkAll()
	}
	if all || m == nil {
		c.of, c.meshes, c.troubled = map[api.Ref]counted{}, map[string]*tallies{}, map[api.Ref]bool{}
	}
	if m == nil {
		return
	}
	if all {
		stale = c.everybody(m)
	}
	for ref := range stale {
		c.one(m, ref)
	}
}

// everybody are the dataplanes that there are, and those that sidecars speak of.
func (c *FleetCounts) everybody(m *resolve.Model) map[api.Ref]bool {
	out := map[api.Ref]bool{}
	for o := range m.Snapshot().OfKind(api.KindDataplane) {
		out[o.Ref] = true
	}
	for st := range c.sidecars.ads.Peers() {
		out[st.Dataplane] = true
	}
	for ref := range c.sidecars.atPeers() {
		out[ref] = true
	}
	return out
}

// one counts a dataplane anew.
func (c *FleetCounts) one(m *resolve.Model, ref api.Ref) {
	c.looked++
	was, now := c.of[ref], counted{}
	s, known := c.sidecars.Sidecar(ref)
	if o, ok := m.Snapshot().Get(ref); ok {
		now.state = s.State()
		if dp, ok := o.Spec.(*api.Dataplane); ok && dp.Networking != nil {
			now.networking, now.seen = dp.Networking, insights.SeenOf(&s)
			now.seen.Root = c.root(ref)
		}
	}
	t := c.meshes[ref.Mesh]
	if t == nil {
		t = &tallies{inspect.NewTally(), insights.NewTally()}
		c.meshes[ref.Mesh] = t
	}
	if was.networking != nil {
		t.insights.Remove(was.networking, was.seen)
	}
	if now.networking != nil {
		t.insights.Add(now.networking, now.seen)
	}
	t.states.Move(ref, was.state, now.state)
	if t.states.Total() == 0 {
		delete(c.meshes, ref.Mesh)
	}
	if delete(c.troubled, ref); known && s.Troubled() || !known && now.state != "" && c.sidecars.returning.gone(ref) {
		c.troubled[ref] = true
	}
	if c.of[ref] = now; now == (counted{}) {
		delete(c.of, ref)
	}
}

// in asks about the counts of a mesh.
func (c *FleetCounts) in(mesh string, ask func(*tallies)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	t := c.meshes[mesh]
	if t == nil {
		t = &tallies{inspect.NewTally(), insights.NewTally()}
	}
	ask(t)
}

// Troubled are the sidecars with which something is wrong.
func (c *FleetCounts) Troubled() []inspect.Sidecar {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.wrong()
}

// wrong needs mu.
func (c *FleetCounts) wrong() (out []inspect.Sidecar) {
	for _, ref := range slices.SortedFunc(maps.Keys(c.troubled), api.Ref.Compare) {
		s, ok := c.sidecars.Sidecar(ref)
		if !ok && c.sidecars.returning.late(ref, time.Now()) {
			s = inspect.Sidecar{Dataplane: ref, Awaited: true, Missing: true}
		}
		if s.Troubled() {
			out = append(out, s)
		}
	}
	return out
}

// Looks is how often a dataplane was looked at.
func (c *FleetCounts) Looks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looked
}

// Sync is how far the sidecars of a mesh follow.
func (c *FleetCounts) Sync(m *resolve.Reader, mesh string) (s inspect.Sync) {
	now := time.Now()
	c.in(mesh, func(t *tallies) {
		s = t.states.Sync(m, mesh, c.sidecars.Sidecar, c.wrong(), func(ref api.Ref) bool { return c.sidecars.returning.Awaits(ref, now) })
	})
	return s
}

// States are how many dataplanes of a mesh are in each state, and those in one of some states
// but for StateInSync.
func (c *FleetCounts) States(_ *snapshot.Snapshot, mesh string, of []inspect.State) (counts map[inspect.State]int, in []api.Ref) {
	c.in(mesh, func(t *tallies) { counts, in = t.states.Counts(), t.states.In(of...) })
	return counts, in
}

// Insights summarise a mesh.
func (c *FleetCounts) Insights(catalog *api.Catalog, s *snapshot.Snapshot, mesh *api.Object) (insight insights.MeshInsight, services []insights.ServiceInsight) {
	c.in(mesh.Name, func(t *tallies) { insight, services = t.insights.Insights(catalog, s, mesh) })
	return insight, services
}
