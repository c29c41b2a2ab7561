package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// What there is to say on the policies and routes of a mesh is found out when somebody asks, and
// follows changes from then on: what each says is known by what it was found out from, and is
// found out again only where an update touched that. Nothing of it is worked out by the update.

// toldOf is what there is to say on a policy or route, nil for nothing, and by what that was
// found out.
type toldOf struct {
	notes *objectNotes
	reads []derive.Read // sorted, each once
}

// since is what was known of an earlier revision, and what updates touched and changed since.
type since struct {
	known   *meshNotes
	touched [][]derive.Read
	changed [][]string // keys of policies and routes
	size    int
}

// mostTouched is after how much that was touched what was known before is given up: nobody
// asks.
const mostTouched = 100_000

// next is what is known of the revision after an update.
func (a *asked) next(c *collections, before, after *derive.Graph, d *derive.Delta) *asked {
	was := a.since
	if known := a.noted.at.Load(); known != nil {
		was = &since{known: known}
	}
	if was == nil {
		return &asked{}
	}
	var touched []derive.Read
	if !d.Touched(before, after, func(r derive.Read) bool {
		touched = append(touched, r)
		return was.size+len(touched) <= mostTouched
	}) {
		return &asked{}
	}
	return &asked{since: &since{known: was.known, touched: append(slices.Clip(was.touched), touched),
		changed: append(slices.Clip(was.changed), c.policies.Changed(d), c.routes.Changed(d)), size: was.size + len(touched)}}
}

// noted is what there is to say on all policies and routes of a mesh, found out
// once for all questions about one revision.
func (q *Reader) noted(x mesh, name string) *meshNotes {
	a := q.asked(name)
	return a.noted.find(q, func() *meshNotes {
		if a.since == nil {
			return q.findNotes(x)
		}
		return q.followNotes(x, a.since)
	})
}

// asked is what questions found out about a mesh that is there.
func (q *Reader) asked(mesh string) *asked {
	state, _ := q.meshes.Get([]byte(mesh))
	return state.asked
}

// findNotes looks at all policies and routes.
func (q *Reader) findNotes(x mesh) *meshNotes {
	told := map[string]*toldOf{}
	for _, kind := range q.attachableKinds() {
		for key := range x.policiesByKind.In(x.at, kind) {
			told[key] = x.tell(key)
		}
		for key := range x.routesByName.In(x.at, anyOf(kind)) {
			told[key] = x.tell(key)
		}
	}
	return q.notesOf(told)
}

// followNotes looks at those of which something was touched since.
func (q *Reader) followNotes(x mesh, s *since) *meshNotes {
	touched := map[derive.Read]struct{}{}
	for _, list := range s.touched {
		for _, r := range list {
			touched[r] = struct{}{}
		}
	}
	told := maps.Clone(s.known.told)
	again := slices.Concat(s.changed...)
	for key, t := range told {
		if slices.ContainsFunc(t.reads, func(r derive.Read) bool { _, ok := touched[r]; return ok }) {
			again = append(again, key)
		}
	}
	slices.Sort(again)
	for _, key := range slices.Compact(again) {
		if told[key] = x.tell(key); told[key] == nil {
			delete(told, key)
		}
	}
	return q.notesOf(told)
}

// tell finds out what there is to say on a policy or route; nil where it is neither.
func (m mesh) tell(key string) *toldOf {
	out := &toldOf{}
	x := mesh{m.collections, derive.Recorded(m.at, func(r derive.Read) { out.reads = append(out.reads, r) }), m.asked}
	n := &objectNotes{}
	if n.policy, _ = x.policies.Get(x.at, key); n.policy != nil {
		if n.notes = policyNotes(x, n.policy); len(n.notes) > 0 {
			n.nowhere = nowhere(x, n.policy)
		}
	} else if n.route, _ = x.routes.Get(x.at, key); n.route != nil {
		n.notes = slices.Concat(n.route.opinion.Notes, routeNotes(x, n.route))
	} else {
		return nil
	}
	if len(n.notes) > 0 {
		out.notes = n
	}
	slices.Sort(out.reads)
	out.reads = slices.Clip(slices.Compact(out.reads))
	return out
}

// notesOf puts what is told in order.
func (q *Reader) notesOf(told map[string]*toldOf) *meshNotes {
	out := &meshNotes{byObject: map[*api.Object]*objectNotes{}, told: told}
	for _, t := range told {
		if t.notes != nil {
			out.list = append(out.list, t.notes)
			out.byObject[t.notes.object()] = t.notes
		}
	}
	slices.SortFunc(out.list, func(a, b *objectNotes) int {
		x, y := a.object().Ref, b.object().Ref
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(objectKey(x), objectKey(y)))
	})
	return out
}

// object is what the notes are on.
func (n *objectNotes) object() *api.Object {
	if n.policy != nil {
		return n.policy.object
	}
	return n.route.object
}
