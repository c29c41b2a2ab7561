package resolve

import (
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/api/snapshot"
)

// Known is what work finds out about the whole model of q, kept beside it under a key for all
// who ask the same of it, for as long as it is the newest. What is kept may be read by many at
// once and is changed by nobody.
func Known[T any](q *Reader, key any, work func() T) T {
	if known, ok := q.known.Load(key); ok {
		return known.(T)
	}
	found := work()
	if !q.left { // else it is not all
		q.known.Store(key, found)
	}
	return found
}

// Memory is what questions found out about things that never change, such as documents, by which it
// was of. Many may ask at once. A nil Memory keeps nothing.
type Memory[K comparable, V any] struct {
	of   sync.Map
	size atomic.Int64
	most int64
}

// Remembered is a Memory that stands beside the model of q under a key, and that the models after it
// take over. It keeps as many as most says of the model; a full one begins anew with the next model,
// for things that are no more are among what it keeps.
func Remembered[K comparable, V any](q *Reader, key any, most func() int) *Memory[K, V] {
	begin := func() *Memory[K, V] { return &Memory[K, V]{most: int64(most())} }
	return Followed(q, key, begin, func(was *Memory[K, V], _ []snapshot.Change) *Memory[K, V] {
		if was.size.Load() >= was.most {
			return begin()
		}
		return was
	})
}

// Find is what work finds out, unless that is known. Two who ask at once may both find it out.
func (m *Memory[K, V]) Find(of K, work func() V) V {
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
