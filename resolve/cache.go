package resolve

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// Cached is what work finds out about the whole model of q, kept beside it under a key for all
// who ask the same of it, for as long as it is the newest. What is kept may be read by many at
// once and is changed by nobody.
func Cached[T any](q *Reader, key any, work func() T) T {
	if known, ok := q.known.Load(key); ok {
		return known.(T)
	}
	found := work()
	if !q.left { // else it is not all
		q.known.Store(key, found)
	}
	return found
}

// QueryCache is what questions found out about things that never change, such as documents, by which it
// was of. Many may ask at once. A nil QueryCache keeps nothing.
type QueryCache[K comparable, V any] struct {
	of   sync.Map
	size atomic.Int64
	most int64
}

// CacheOf is a QueryCache that stands beside the model of q under a key, and that the models after it
// take over. It keeps as many as most says of the model; a full one begins anew with the next model,
// for things that are no more are among what it keeps.
func CacheOf[K comparable, V any](q *Reader, key any, most func() int) *QueryCache[K, V] {
	begin := func() *QueryCache[K, V] { return &QueryCache[K, V]{most: int64(most())} }
	return CachedAcross(q, key, begin, func(was *QueryCache[K, V], _ []snapshot.Change) *QueryCache[K, V] {
		if was.size.Load() >= was.most {
			return begin()
		}
		return was
	})
}

// Find is what work finds out, unless that is known. Two who ask at once may both find it out.
func (m *QueryCache[K, V]) Find(of K, work func() V) V {
	if m == nil {
		return work()
	}
	if known, ok := m.of.Load(of); ok {
		return known.(V)
	}
	found := work()
	if m.size.Load() < m.most {
		if _, had := m.of.Swap(of, found); !had {
			m.size.Add(1)
		}
	}
	return found
}

// CachedAcross is Cached for what the changes since may bring up to date: of an earlier model it is
// followed, and found out anew only where nobody asked for long. follow is told what it was, and
// all changes of documents since, in their order.
func CachedAcross[T any](q *Reader, key any, find func() T, follow func(was T, changes []snapshot.Change) T) T {
	if known, ok := q.following.known.Load(key); ok {
		return known.(T)
	}
	var found T
	if e := q.following.earlier[key]; e != nil {
		found = follow(e.known.(T), slices.Concat(e.changes...))
	} else {
		found = find()
	}
	if !q.left { // else it is not all
		q.following.known.Store(key, found)
	}
	return found
}

// following is what is known of a model by its changes since an earlier one was asked.
type following struct {
	known   effective.Findings
	earlier map[any]*earlier // by key; nobody changes it
}

// earlier is what was known of an earlier model, and the changes since.
type earlier struct {
	known   any
	changes [][]snapshot.Change
	size    int
}

// mostFollowed is after how many changes what was known before is given up: it keeps an earlier
// model, and nobody asks.
const mostFollowed = 1000

// next is what is known of the model after changes.
func (f *following) next(changes []snapshot.Change) map[any]*earlier {
	out := map[any]*earlier{}
	for key, e := range f.earlier {
		if size := e.size + len(changes); size <= mostFollowed {
			out[key] = &earlier{e.known, append(slices.Clip(e.changes), changes), size}
		}
	}
	f.known.Range(func(key, known any) bool {
		delete(out, key)
		if len(changes) <= mostFollowed {
			out[key] = &earlier{known, [][]snapshot.Change{changes}, len(changes)}
		}
		return true
	})
	return out
}

// changedSince are the dataplanes that came out differently since something was known of all, by key.
type changedSince struct {
	lists [][]string
	size  int
}

// and are those with more; c stays as it is.
func (c changedSince) and(more []string) changedSince {
	return changedSince{append(slices.Clip(c.lists), more), c.size + len(more)}
}

// keys are they, each once.
func (c changedSince) keys() []string {
	all := slices.Concat(c.lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// placementsSince is where the places of an earlier revision are, and what changed since.
type placementsSince struct {
	known   *impact.Placements
	changed changedSince
}

// nextPlaces is what is known of them after an update; nil where finding them anew costs no more.
func (a *asked) nextPlaces(changed []string) *placementsSince {
	was := a.placesSince
	if known := a.places.At.Load(); known != nil {
		was = &placementsSince{known: known}
	}
	if was == nil || was.changed.size+len(changed) > len(was.known.Dataplanes)/2 {
		return nil
	}
	return &placementsSince{was.known, was.changed.and(changed)}
}

// allPlacements are the places of all dataplanes of a mesh, found out once for all questions
// about one revision: by what changed since somebody asked of an earlier one.
func (q *Reader) allPlacements(x mesh, name string) *impact.Placements {
	a := q.asked(name)
	return a.places.Find(q.whole, func() *impact.Placements {
		if since := a.placesSince; since != nil {
			return since.known.Follow(since.changed.keys(), func(key string) *effective.Resolved {
				r, _ := x.Resolved.Get(x.At, key)
				return r
			})
		}
		return impact.AllPlacements(x.Resolved.All(x.At))
	})
}

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
func (q *Reader) Fails(places ...impact.Placement) {
	for _, p := range places {
		if !slices.ContainsFunc(q.failed, func(f impact.Placement) bool { return f.Key() == p.Key() }) {
			q.failed = append(q.failed, p)
		}
	}
}
