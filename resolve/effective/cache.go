package effective

import (
	"sync"
	"sync/atomic"
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

// WithOthers stands beside the table of k and other policies.
func (k *Kept) WithOthers() *Kept { return &Kept{rendered: k.rendered} }

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

// Answer keeps what a question found out about a whole model, for those who ask it
// afterwards. Two who ask at once may both find it out.
type Answer[T any] struct{ At atomic.Pointer[T] }

// Findings are what questions found out about a whole model or mesh, by key.
type Findings struct{ sync.Map }

// Find is what work finds out, unless somebody has found it out. It is kept where whole says that
// work looked at everything.
func (a *Answer[T]) Find(whole func() bool, work func() *T) *T {
	if known := a.At.Load(); known != nil {
		return known
	}
	found := work()
	if whole() { // else it is not all
		a.At.Store(found)
	}
	return found
}
