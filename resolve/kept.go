package resolve

import (
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/api"
)

// Kept is what is derived from where one class of dataplanes has its requests or
// connections to a destination go, a table and the policies of the listener to it. It
// stands beside them: tables are data, and know nothing of those who read them.
// Whoever refers to them refers to their Kept too, and all go together. A nil Kept
// keeps nothing.
type Kept struct {
	attached, listeners, passing Memo
	rendered                     *Memo // beside the table, which may outlive the policies
}

// NewKept stands beside a new table.
func NewKept() *Kept { return &Kept{rendered: new(Memo)} }

// withOthers stands beside the table of k and other policies.
func (k *Kept) withOthers() *Kept { return &Kept{rendered: k.rendered} }

// Rendered is for what the table is to a proxy.
func (k *Kept) Rendered() *Memo {
	if k == nil {
		return nil
	}
	return k.rendered
}

// Listeners is for what the listeners have in common.
func (k *Kept) Listeners() *Memo {
	if k == nil {
		return nil
	}
	return &k.listeners
}

// Passing is for the same where what is for nobody there passes through.
func (k *Kept) Passing() *Memo {
	if k == nil {
		return nil
	}
	return &k.passing
}

// attachments is for what Outbound.Attachments worked out.
func (k *Kept) attachments() *Memo {
	if k == nil {
		return nil
	}
	return &k.attached
}

// clusterKept, endpointsKept, inboundKept and the others are values and what stands beside them,
// each made in one piece.
type (
	clusterKept struct {
		Cluster
		variant string // as the end of a key
		kept    Memo
	}
	endpointsKept struct {
		Endpoints
		kept Memo
	}
	inboundKept struct {
		Inbound
		kept Memo
	}
	edgeKept struct {
		Edge
		kept Memo
	}
	trustKept struct {
		Trust
		kept Memo
	}
	secretKept struct {
		Secret
		kept Memo
	}
	outboundKept struct {
		Outbound
		kept Memo
	}
)

// Memo keeps beside a shared value what a later stage derived from it, so that
// it is derived once and forgotten together with the value.
type Memo struct {
	once    sync.Once
	done    atomic.Bool
	derived any
	failure any // what derive panicked with
}

// Do returns what derive made at the first call; callers that come meanwhile wait
// for it. Where derive panicked, every call panics with the same value: a value
// that cannot be derived does not become one for later callers. No Memo, nil,
// derives at every call.
func (m *Memo) Do(derive func() any) any {
	if m == nil {
		return derive()
	}
	m.once.Do(func() {
		defer func() {
			if m.failure = recover(); m.failure == nil {
				m.done.Store(true)
			}
		}()
		m.derived = derive()
	})
	if m.failure != nil {
		panic(m.failure)
	}
	return m.derived
}

// Known is what Do made; not ok where nobody has called it, or not in vain.
func (m *Memo) Known() (derived any, ok bool) {
	if m == nil || !m.done.Load() {
		return nil, false
	}
	return m.derived, true
}

// answer keeps what a question found out about a whole model, for those who ask it
// afterwards. Two who ask at once may both find it out.
type answer[T any] struct{ at atomic.Pointer[T] }

// findings are what questions found out about a whole model or mesh, by key.
type findings struct{ sync.Map }

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

// find is what work finds out for q, unless somebody has found it out.
func (a *answer[T]) find(q *Reader, work func() *T) *T {
	if known := a.at.Load(); known != nil {
		return known
	}
	found := work()
	if !q.left { // else it is not all
		a.at.Store(found)
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
	return Followed(q, key, begin, func(was *Memory[K, V], _ []api.Change) *Memory[K, V] {
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
