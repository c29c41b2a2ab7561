// Package identity holds the key of a sidecar's workload, has it certified, and serves both to
// the Envoy beside it (spec/identity.md 2.3).
//
// It promises that a key is in the memory of this process and of its Envoy and nowhere else: a
// new one is made for each certificate, and what is sent to be signed says nothing but its
// public half. Where the documents say so, key and certificate are those of the SPIRE beside the
// workload, if they are of the name that the documents make. A certificate stays in use until
// another one takes its place.
package identity

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// CertifyResponse is what the control plane answers to a request for a certificate.
type CertifyResponse struct {
	// Chain are the certificate and what stands between it and its root, in PEM.
	Chain   string    `json:"chain"`
	Secret  string    `json:"secret"` // the name by which Envoy asks for it
	Names   []string  `json:"names"`
	Root    string    `json:"root"` // the SHA-256 of the root, in hexadecimal digits
	Expires time.Time `json:"expires"`
	Renew   time.Time `json:"renew"` // when another one is to be asked for
	// Spire says that the certificate comes from elsewhere; then there is no Chain.
	Spire *Spire `json:"spire,omitempty"`
}

// CertifyRequest is what the control plane is asked.
type CertifyRequest struct {
	Request []byte            // PKCS #10 in DER form
	Offer   *WorkloadAPIState // of the Workload API; nil where that is not asked
}

// Certify has a request signed.
type Certify func(ctx context.Context, q CertifyRequest) (CertifyResponse, error)

// Why there is no certificate.
var (
	// ErrNone is that the dataplane has no identity, or that the control plane knows of none.
	ErrNone = errors.New("the dataplane has no identity")
	// ErrRefused is in errors that asking again soon does not mend.
	ErrRefused = errors.New("refused")
)

// The pauses between two attempts (spec/identity.md 2.3).
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// Certificate is one that is in use.
type Certificate struct {
	CertifyResponse
	Issued time.Time // as its holder knows it
	Serial string    // SHA-256 of it, in hexadecimal digits
	DER    [][]byte  // the chain

	key crypto.Signer
}

// Prove says by its key that it is the certificate of a dataplane, by the node id of that.
func (c Certificate) Prove(node string) ([]byte, error) { return workload.Prove(c.key, node) }

// Holder holds the key and the certificate of one workload.
type Holder struct {
	ask     Certify
	log     *slog.Logger
	again   chan struct{}
	secrets *secrets
	outside *outside

	mu      sync.Mutex
	current Certificate
	changed chan struct{} // closed when current changes, then replaced
	warned  bool
}

// New makes a holder; Keep has it ask, and Serve serve. The Workload API is asked where the control
// plane says so; it is empty where there is none.
func New(ask Certify, workloadAPI string, log *slog.Logger) *Holder {
	h := &Holder{ask: ask, log: log, again: make(chan struct{}, 1), secrets: newSecrets(), changed: make(chan struct{})}
	h.outside = &outside{Holder: h, address: workloadAPI}
	return h
}

// Again has the holder ask now.
func (h *Holder) Again() {
	select {
	case h.again <- struct{}{}:
	default:
	}
}

// Current is the certificate that is in use, and is closed when another one is; not ok where
// there is none.
func (h *Holder) Current() (c Certificate, ok bool, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current, h.current.Chain != "", h.changed
}

// Ready is why the workload proves nobody any more: its certificate has ended.
func (h *Holder) Ready(now time.Time) error {
	if c, ok, _ := h.Current(); ok && !now.Before(c.Expires) {
		return fmt.Errorf("the certificate of the workload ended at %s", c.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// Keep asks for certificates, each in time, until ctx ends.
func (h *Holder) Keep(ctx context.Context) {
	told := ""
	pauses := pausesFrom(firstPause)
	for {
		wait := longestPause
		err := h.renew(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			told = ""
			pauses = pausesFrom(firstPause)
			if c, _, _ := h.Current(); c.Spire == nil {
				wait = time.Until(c.Renew)
			} else { // what it is called may change
				wait = jittered(wait)
			}
		case errors.Is(err, ErrNone):
			told = ""
			pauses = pausesFrom(firstPause)
			wait = jittered(wait)
		default:
			if err.Error() != told {
				h.log.Warn("no certificate for the workload, trying again", "error", err)
				told = err.Error()
			}
			if errors.Is(err, ErrRefused) {
				pauses = pausesFrom(longestPause)
			}
			wait = pauses.NextBackOff()
		}
		if c, ok, _ := h.Current(); ok && err != nil {
			h.warn(c)
		}
		select {
		case <-ctx.Done():
			return
		case <-h.again:
			pauses = pausesFrom(firstPause)
		case <-time.After(max(wait, firstPause)):
		}
	}
}

// warn says once of a certificate that it ends and has not been renewed.
func (h *Holder) warn(c Certificate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.warned && time.Now().After(workload.WarnAt(c.Issued, c.Expires)) {
		h.warned = true
		h.log.Error("the certificate of the workload ends soon and cannot be renewed", "expires", c.Expires)
	}
}

// pausesFrom are random ones around those from begin to the longest.
func pausesFrom(begin time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: begin, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longestPause}
}

// jittered is d, more or less, so that sidecars do not all come at once.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// renew makes a key, and serves it with a certificate; or serves those of the Workload API.
func (h *Holder) renew(ctx context.Context) error {
	key, err := workload.NewKey()
	if err != nil {
		return err
	}
	request, err := workload.NewRequest(key)
	if err != nil {
		return err
	}
	q := CertifyRequest{request, h.outside.offer()}
	answer, err := h.ask(ctx, q)
	if err != nil {
		return err
	}
	if answer.Spire != nil {
		return h.outside.adopt(ctx, q, answer)
	}
	h.outside.leave()
	c, err := accept(answer, key, nil, time.Now())
	if err != nil {
		return fmt.Errorf("the control plane answers a certificate that is of no use: %w", err)
	}
	return h.use(c)
}

// use serves a certificate in the place of the one before.
func (h *Holder) use(c Certificate) error {
	text, err := workload.KeyPEM(c.key)
	if err != nil {
		return err
	}
	if err := h.secrets.put(c.Secret, c.Chain, text); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current, h.warned = c, false
	close(h.changed)
	h.changed = make(chan struct{})
	h.log.Info("certificate of the workload", "names", c.Names, "expires", c.Expires, "renew", c.Renew)
	return nil
}

// accept looks whether an answer is a certificate of a key that the workload may show now. Roots are
// nil where whom others believe is not known here.
func accept(a CertifyResponse, key crypto.Signer, roots []*x509.Certificate, now time.Time) (Certificate, error) {
	chain, err := workload.ReadChain([]byte(a.Chain))
	if err != nil {
		return Certificate{}, err
	}
	if a.Secret == "" {
		return Certificate{}, errors.New("it is not said by which name Envoy asks for it")
	}
	if err := workload.Check(chain, workload.CertificateRequest{Names: a.Names, Key: key.Public(), Roots: roots}, now); err != nil {
		return Certificate{}, err
	}
	a.Names = nil
	for _, u := range chain[0].URIs {
		a.Names = append(a.Names, u.String())
	}
	a.Expires = chain[0].NotAfter
	return Certificate{CertifyResponse: a, Issued: now, Serial: workload.Fingerprint(chain[0]), DER: chain.DER(), key: key}, nil
}
