package resolve

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/derive"
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

// placementsKey names the placements of all dataplanes.
type placementsKey struct{}

// allPlacements are the placements of all dataplanes of the mesh, found out once for all questions about one
// revision: by what changed since somebody asked of an earlier one.
func (m mesh) allPlacements() *impact.Placements {
	return derive.Followed(m.At, placementsKey{}, m.Resolved, func() *impact.Placements {
		return impact.AllPlacements(m.Resolved.All(m.At))
	}, func(was *impact.Placements, changed []string) *impact.Placements {
		return was.Follow(changed, func(key string) *effective.Resolved {
			r, _ := m.Resolved.Get(m.At, key)
			return r
		})
	})
}

// AtDataplanes yields what look finds at the dataplanes of a mesh, in the order of their keys, where
// it finds something. It is kept under a key, and look looks again only at dataplanes that came out
// differently since somebody asked: what it finds must follow from the Resolved alone.
func AtDataplanes[T any](q *Reader, mesh string, key any, look func(*effective.Resolved) (T, bool)) iter.Seq[T] {
	return func(yield func(T) bool) {
		x, ok := q.mesh(mesh)
		if !ok {
			return
		}
		found := derive.OnDemand[T]{Name: key, Over: x.Resolved, Make: func(at derive.At, key string) *T {
			if r, _ := x.Resolved.Get(at, key); r != nil {
				if v, ok := look(r); ok {
					return &v
				}
			}
			return nil
		}}
		for _, v := range found.At(x.At).All() {
			if !yield(*v) {
				return
			}
		}
	}
}

// Fails adds places to those of Failed, each shared value once.
func (q *Reader) Fails(places ...impact.Placement) {
	for _, p := range places {
		if !slices.ContainsFunc(q.failed, func(f impact.Placement) bool { return f.Key() == p.Key() }) {
			q.failed = append(q.failed, p)
		}
	}
}
