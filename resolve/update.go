package resolve

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
)

// set is names that were marked.
type set map[string]struct{}

func (s set) add(name string) { s[name] = struct{}{} }

// updater derives the next revision of one mesh. It works in phases, each on
// the committed trees of the one before: objects and their links, destinations,
// what is said about them, dataplanes. Each phase marks what the next must redo.
type updater struct {
	tabler
	mesh *mesh // the next revision, not yet shared
	// fresh says that everything is new, so nothing needs to be marked.
	fresh    bool
	dests    set              // ids: what is said about them, or who answers, changed
	names    set              // service names whose destinations came, went or changed
	services set              // object keys of services whose members or ports changed
	classics set              // kuma.io/service names whose members changed
	hosts    set              // names of hosts that routes serve, or did
	planes   set              // object keys of dataplanes
	moved    map[string]*dest // destinations with a new value, by id
	limits   bool             // a policy with an inbound side changed
	inbound  []*policy        // those that have one, nil until somebody asks
	affected []api.Ref
}

func newUpdater(m *Model, prev *mesh, name string) *updater {
	next := newMesh(name)
	next.zone = m.zone
	if prev != nil {
		c := *prev
		next = &c
	}
	return &updater{
		tabler: tabler{mesh: next, prior: prev, kinds: m.kinds, dialects: m.dialects}, mesh: next, fresh: prev == nil,
		dests: set{}, names: set{}, services: set{},
		classics: set{}, hosts: set{}, planes: set{}, moved: map[string]*dest{},
	}
}

// run applies changes that all belong to the mesh.
func (u *updater) run(changes []api.Change) {
	changes = u.withReaders(changes)
	for _, c := range changes {
		u.touch(c.Before)
	}
	u.objects(changes)
	for _, c := range changes {
		u.touch(c.After)
	}
	u.destinations()
	u.subjects()
	u.dataplanes()
}

// objects replaces the objects and the links that they hold.
func (u *updater) objects(changes []api.Change) {
	objects, links, roster := u.mesh.objects.Txn(), u.mesh.links.Txn(), u.mesh.roster.edit()
	see := seer{before: u.mesh.objects, batch: make(map[api.Ref]*api.Object, len(changes))}
	for _, c := range changes {
		if c.Ref().Mesh != "" { // what a mesh keeps
			see.batch[c.Ref()] = c.After
		}
	}
	for _, c := range changes {
		key := objectKey(c.Ref())
		old, had := objects.Get([]byte(key))
		if had {
			for _, l := range linksOf(old) {
				links.Delete(linkKey(l.relation, l.target, key))
			}
			objects.Delete([]byte(key))
		}
		var now any
		if c.After != nil {
			now = u.read(c.After, &see)
		}
		if now != nil {
			objects.Insert([]byte(key), now)
			for _, l := range linksOf(now) {
				links.Insert(linkKey(l.relation, l.target, key), key)
			}
		}
		u.carry(roster, key, old, now)
	}
	u.mesh.objects, u.mesh.links, u.mesh.roster = objects.Commit(), links.Commit(), roster.commit()
}

// carry notes what a dataplane carries. It keeps its number for as long as it is
// there, and until it is resolved as gone.
func (u *updater) carry(e *rosterEdit, key string, before, after any) {
	old, was := before.(*dataplane)
	now, is := after.(*dataplane)
	var names []string
	if was {
		names = carried(old)
	}
	switch {
	case !is:
		if was {
			e.relink(carries, old.number, names, nil)
		}
		return
	case was:
		now.number = old.number
	default:
		if p, ok := u.mesh.planes.Get([]byte(key)); ok {
			now.number = p.plane.number
		} else {
			now.number = e.number(key)
		}
	}
	e.relink(carries, now.number, names, carried(now))
}

// subjects gathers anew what is said about each marked destination.
func (u *updater) subjects() {
	txn := u.mesh.dests.Txn()
	if u.fresh {
		for d := range u.mesh.destsNamed(anyTarget) {
			u.dests.add(d.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(u.dests)) {
		d, ok := u.mesh.dests.Get([]byte(id))
		if !ok {
			continue
		}
		c := *d
		c.subjects = gatherSubjects(u.mesh, &c)
		u.moved[id] = &c
		txn.Insert([]byte(id), &c)
	}
	u.mesh.dests = txn.Commit()
	if u.fresh {
		return
	}
	for id := range u.dests {
		if d, ok := u.mesh.dests.Get([]byte(id)); ok {
			for _, n := range d.names() {
				u.wake(n)
			}
		}
	}
	for n := range u.names {
		u.wake(n)
	}
}

// wake marks the dataplanes that call or send to a service of that name.
func (u *updater) wake(name string) {
	for key := range u.mesh.roster.of(callsIt, name) {
		u.planes.add(key)
	}
}

// dataplanes resolves the marked ones and notes those that came out different.
func (u *updater) dataplanes() {
	planes, roster := u.mesh.planes.Txn(), u.mesh.roster.edit()
	for _, key := range slices.Sorted(maps.Keys(u.planes)) {
		before, _ := u.mesh.planes.Get([]byte(key))
		var after *planed
		if o, ok := u.mesh.objects.Get([]byte(key)); ok {
			var sameNames bool
			after, sameNames = u.plan(o.(*dataplane), before)
			if !sameNames {
				roster.relink(callsIt, after.plane.number, before.names(), after.names())
			}
			planes.Insert([]byte(key), after)
		} else {
			if before != nil {
				roster.relink(callsIt, before.plane.number, before.names(), nil)
				roster.release(before.plane.number)
			}
			planes.Delete([]byte(key))
		}
		if before.value() != after.value() {
			u.affected = append(u.affected, cmpRef(before, after))
		}
	}
	u.mesh.planes, u.mesh.roster = planes.Commit(), roster.commit()
}
