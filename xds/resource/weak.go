package resource

import (
	"sync"
	"weak"
)

// Weak keeps what is rendered of one value in several ways, each for as long as somebody has
// it: the listeners that do the same in different places, which come and go with dataplanes; the
// forms of a cluster, of which a mesh needs two while mutual TLS is switched on, and one before
// and after. The lock guards what is known; it never changes what is rendered.
type Weak[K comparable, V any] struct {
	mu      sync.Mutex
	known   map[K]weak.Pointer[V]
	sweepAt int // how many there are before the forgotten ones are looked for
}

// Get is what render gave for key, once for all who ask while somebody has it. A nil is not kept.
func (w *Weak[K, V]) Get(key K, render func() *V) *V {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.known[key].Value(); v != nil {
		return v
	}
	v := render()
	if v == nil {
		return nil
	}
	if w.known == nil {
		w.known = map[K]weak.Pointer[V]{}
	}
	if len(w.known) >= w.sweepAt {
		for k, v := range w.known {
			if v.Value() == nil {
				delete(w.known, k)
			}
		}
		w.sweepAt = 2*len(w.known) + 8
	}
	w.known[key] = weak.Make(v)
	return v
}
