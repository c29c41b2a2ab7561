package workload

import (
	"context"
	"crypto"
	"crypto/x509"
	"sync"
	"time"
)

// Issuer is an authority, of weft or outside (spec/identity.md 2.6). What one that is
// outside returns is used only after Check.
type Issuer interface {
	// Roots are what those have to trust who meet its leaves.
	Roots(ctx context.Context) ([]*x509.Certificate, error)

	// Sign makes a leaf with these names, which its caller has proved, for a public
	// key. It may live shorter than life.
	Sign(ctx context.Context, names []string, public crypto.PublicKey, life time.Duration) (Chain, error)
}

// Local is an authority whose root is here. It signs by an intermediate of its own that
// travels with the leaves, so that who restarts needs none of before. It serves any
// number of callers at once.
type Local struct {
	root *Signer
	now  func() time.Time

	mu      sync.Mutex
	signer  *Signer
	renewAt time.Time
}

// NewLocal has a root; the clock is now.
func NewLocal(root *Signer, now func() time.Time) *Local { return &Local{root: root, now: now} }

// Roots is the one root.
func (l *Local) Roots(context.Context) ([]*x509.Certificate, error) {
	return []*x509.Certificate{l.root.certificate}, nil
}

// Sign makes a leaf at once.
func (l *Local) Sign(_ context.Context, names []string, public crypto.PublicKey, life time.Duration) (Chain, error) {
	now := l.now()
	by, err := l.current(now)
	if err != nil {
		return nil, err
	}
	return by.Leaf(names, public, life, now)
}

// current is the intermediate, replaced at two thirds of its life; the root itself where
// that may sign leaves only.
func (l *Local) current(now time.Time) (*Signer, error) {
	if !l.root.CanDelegate() {
		return l.root, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signer != nil && now.Before(l.renewAt) {
		return l.signer, nil
	}
	signer, err := l.root.Intermediate(now)
	if err != nil {
		return nil, err
	}
	l.signer, l.renewAt = signer, now.Add(signer.certificate.NotAfter.Sub(now)*2/3)
	return signer, nil
}
