package resolve

import (
	"iter"
	"maps"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// planesFound is what somebody finds at the dataplanes of a mesh, by their keys, where that is something.
type planesFound[T any] map[string]T

// planesSince is what was found at the dataplanes of an earlier revision, and what changed since.
type planesSince struct {
	known   any // planesFound[T]
	changed changedSince
}

// mostPlanesSince is after how many changed dataplanes what was found is given up: nobody asks.
const mostPlanesSince = 20_000

// nextPlanes is what is known of dataplanes after an update, by key.
func (a *asked) nextPlanes(changed []string) map[any]*planesSince {
	out := map[any]*planesSince{}
	add := func(key any, was *planesSince) {
		if was.changed.size+len(changed) <= mostPlanesSince {
			out[key] = &planesSince{was.known, was.changed.and(changed)}
		}
	}
	for key, was := range a.planesSince {
		add(key, was)
	}
	a.planes.Range(func(key, known any) bool {
		delete(out, key)
		add(key, &planesSince{known: known})
		return true
	})
	return out
}

// AtDataplanes yields what look finds at the dataplanes of a mesh, in the order of their keys, where
// it finds something. It is kept under a key, and look looks again only at dataplanes that came out
// differently since somebody asked: what it finds must follow from the Resolved alone.
func AtDataplanes[T any](q *Reader, mesh string, key any, look func(*effective.Resolved) (T, bool)) iter.Seq[T] {
	x, _ := q.mesh(mesh)
	a := q.asked(mesh)
	if a == nil {
		return func(func(T) bool) {}
	}
	at, ok := a.planes.Load(key)
	if !ok {
		at = findAt(q, x, a.planesSince[key], look)
		if !q.left { // else it is not all
			a.planes.Store(key, at)
		}
	}
	return func(yield func(T) bool) {
		all := at.(planesFound[T])
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(all[key]) {
				return
			}
		}
	}
}

func findAt[T any](q *Reader, x mesh, since *planesSince, look func(*effective.Resolved) (T, bool)) planesFound[T] {
	if since == nil {
		out := planesFound[T]{}
		for key, r := range x.Resolved.All(x.At) {
			if v, ok := look(r); ok {
				out[key] = v
			}
		}
		return out
	}
	out := maps.Clone(since.known.(planesFound[T]))
	for _, key := range since.changed.keys() {
		delete(out, key)
		if r, _ := x.Resolved.Get(x.At, key); r != nil && q.visit() {
			if v, ok := look(r); ok {
				out[key] = v
			}
		}
	}
	return out
}

// Fails adds places to those of Failed, each shared value once.
func (q *Reader) Fails(places ...impact.Place) {
	for _, p := range places {
		if !slices.ContainsFunc(q.failed, func(f impact.Place) bool { return f.Key() == p.Key() }) {
			q.failed = append(q.failed, p)
		}
	}
}
