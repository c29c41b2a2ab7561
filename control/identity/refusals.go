package identity

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// refusedFor is how long a token that the API server has refused is refused without asking.
	refusedFor = 10 * time.Second
	// mostRefused bounds how many of them are remembered.
	mostRefused = 8 << 10
)

// refusals are tokens that the API server does not take, by their hash: who shows one again
// and again costs one review.
type refusals struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]refusal
}

type refusal struct {
	why  error
	ends time.Time
}

// of is why a token is refused; nil where that is not known.
func (r *refusals) of(token [sha256.Size]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.all[token]; ok && known.ends.After(time.Now()) {
		return known.why
	}
	return nil
}

// keep remembers a refusal, and where there are too many forgets some other.
func (r *refusals) keep(token [sha256.Size]byte, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[[sha256.Size]byte]refusal{}
	}
	for k := range r.all {
		if len(r.all) < mostRefused {
			break
		}
		delete(r.all, k)
	}
	r.all[token] = refusal{why, time.Now().Add(refusedFor)}
}
