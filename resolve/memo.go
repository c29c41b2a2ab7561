package resolve

import (
	"sync"
	"weak"
)

// memo remembers the answers of a pure question, so that neighbouring models
// which share a value share its answers too, for as long as somebody has the
// answer: what nobody uses any more is forgotten. The lock only guards the map;
// it never changes what an answer is.
type memo[V any] struct {
	mu      sync.Mutex
	answers map[string]weak.Pointer[V]
	sweepAt int // how many answers there are before the forgotten ones are looked for
}

// get answers from memory, else by ask, of which the first result stays.
func (m *memo[V]) get(question string, ask func() *V) *V {
	if v := m.known(question); v != nil {
		return v
	}
	v := ask()
	m.mu.Lock()
	defer m.mu.Unlock()
	if first := m.answers[question].Value(); first != nil {
		return first
	}
	if m.answers == nil {
		m.answers = map[string]weak.Pointer[V]{}
	}
	m.sweep()
	m.answers[question] = weak.Make(v)
	return v
}

// known answers from memory alone; nil where nobody has the answer.
func (m *memo[V]) known(question string) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answers[question].Value()
}

// sweep removes forgotten answers whenever their number may have doubled, so that
// it costs a constant for each answer.
func (m *memo[V]) sweep() {
	if len(m.answers) < m.sweepAt {
		return
	}
	for question, v := range m.answers {
		if v.Value() == nil {
			delete(m.answers, question)
		}
	}
	m.sweepAt = 2*len(m.answers) + 8
}
