package conditions

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

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
