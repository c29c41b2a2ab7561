package resolve

import "sync"

// memo remembers the answers of a pure question, so that neighbouring models
// which share a value share its answers too. The lock only guards the map: it
// never changes what an answer is.
type memo[T any] struct {
	mu      sync.Mutex
	answers map[string]T
}

// get answers from memory, else by ask, of which the first result stays.
func (m *memo[T]) get(question string, ask func() T) T {
	if v, ok := m.known(question); ok {
		return v
	}
	v := ask()
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok := m.answers[question]; ok {
		return first
	}
	if m.answers == nil {
		m.answers = map[string]T{}
	}
	m.answers[question] = v
	return v
}

// known answers from memory alone.
func (m *memo[T]) known(question string) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.answers[question]
	return v, ok
}
