package effective

import (
	"sync"
	"sync/atomic"
)

// Cache is what is derived from where one class of dataplanes has its requests or
// connections to a destination go, a table and the policies of the listener to it. It
// stands beside them: tables are data, and know nothing of those who read them.
// Whoever refers to them refers to their Cache too, and all go together. A nil Cache
// keeps nothing.
type Cache struct {
	attached, listeners, passing Derived
	table                        *besideTable
}

// besideTable is what stands beside the table, which may outlive the policies.
type besideTable struct{ rendered, counted Derived }

// NewCache stands beside a new table.
func NewCache() *Cache { return &Cache{table: new(besideTable)} }

// WithOthers stands beside the table of k and other policies.
func (k *Cache) WithOthers() *Cache { return &Cache{table: k.table} }

// Counted is for who has which slot of the table.
func (k *Cache) Counted() *Derived {
	if k == nil {
		return nil
	}
	return &k.table.counted
}

// Rendered is for what the table is to a proxy.
func (k *Cache) Rendered() *Derived {
	if k == nil {
		return nil
	}
	return &k.table.rendered
}

// Listeners is for what the listeners have in common.
func (k *Cache) Listeners() *Derived {
	if k == nil {
		return nil
	}
	return &k.listeners
}

// Passing is for the same where what is for nobody there passes through.
func (k *Cache) Passing() *Derived {
	if k == nil {
		return nil
	}
	return &k.passing
}

// attachments is for what Outbound.Attachments worked out.
func (k *Cache) attachments() *Derived {
	if k == nil {
		return nil
	}
	return &k.attached
}

// Derived keeps beside a shared value what a later stage derived from it, so that
// it is derived once and forgotten together with the value.
type Derived struct {
	once    sync.Once
	done    atomic.Bool
	derived any
	failure any // what derive panicked with
}

// Do returns what derive made at the first call; callers that come meanwhile wait
// for it. Where derive panicked, every call panics with the same value: a value
// that cannot be derived does not become one for later callers. No Derived, nil,
// derives at every call.
func (m *Derived) Do(derive func() any) any {
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

// Made is what Do made; not ok where nobody has called it, or not in vain.
func (m *Derived) Made() (derived any, ok bool) {
	if m == nil || !m.done.Load() {
		return nil, false
	}
	return m.derived, true
}

// Findings are what questions found out about a whole model or mesh, by key.
type Findings struct{ sync.Map }
