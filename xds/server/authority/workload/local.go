package workload

import (
	"crypto"
	"sync"
	"time"
)

// LocalAuthority is an authority whose root is here. It signs by an intermediate of its own that
// travels with the leaves, so that who restarts needs none of before. It serves any
// number of callers at once.
type LocalAuthority struct {
	root *Signer
	now  func() time.Time

	mu      sync.Mutex
	signer  *Signer
	renewAt time.Time
}

// NewLocal has a root; the clock is now.
func NewLocal(root *Signer, now func() time.Time) *LocalAuthority {
	return &LocalAuthority{root: root, now: now}
}

// Sign makes a certificate with these names, which its caller has proved, for a public key. It lives no
// longer than life, and than the root.
func (l *LocalAuthority) Sign(names []string, public crypto.PublicKey, life time.Duration) (CertificateChain, error) {
	now := l.now()
	by, err := l.current(now)
	if err != nil {
		return nil, err
	}
	return by.Issue(names, public, life, now)
}

// current is the intermediate, replaced at two thirds of its life, and where the clock was set back
// to before it; the root itself where that may sign leaves only.
func (l *LocalAuthority) current(now time.Time) (*Signer, error) {
	if !l.root.CanDelegate() {
		return l.root, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signer != nil && now.Before(l.renewAt) && !now.Before(l.signer.certificate.NotBefore) {
		return l.signer, nil
	}
	signer, err := l.root.Intermediate(now)
	if err != nil {
		return nil, err
	}
	l.signer, l.renewAt = signer, now.Add(signer.certificate.NotAfter.Sub(now)*2/3)
	return signer, nil
}
