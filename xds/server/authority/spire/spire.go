// Package spire is a client of the SPIFFE Workload API, as the agent of a SPIRE serves it
// (spec/identity.md 2.6): the certificates of a workload, and whom a trust domain believes.
//
// It promises to keep what it was given last however long the Workload API is silent or away, and
// to ask again with growing pauses. It decides nothing: which certificate is used, and whether
// somebody is trusted, is decided by whoever reads it.
package spire

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
)

// Variable is that of the environment which says where the Workload API is.
const Variable = workloadapi.SocketEnv

// errNowhere is that nobody said where the Workload API is.
var errNowhere = errors.New(Variable + " is not set, so that there is no Workload API to ask; set it to the socket of the SPIRE agent of this host, as unix:///run/spire/agent.sock; a pod has it with the annotation k8s.kuma.io/spire-support: enabled")

// SVID is a certificate of the workload with its key.
type SVID struct {
	ID    string
	Chain []*x509.Certificate // the certificate first
	Key   crypto.Signer
}

// State is what the Workload API has said last.
type State struct {
	SVIDs   []SVID                         // of WatchSVIDs
	Bundles map[string][]*x509.Certificate // of WatchBundles: the roots of each trust domain
	Err     error                          // why there is nothing newer; nil while it answers
}

// WorkloadAPI is a Workload API.
type WorkloadAPI struct {
	address string

	mu      sync.Mutex
	state   State
	changed chan struct{}
}

// New has the Workload API at an address such as unix:///run/spire/agent.sock. Nothing is asked
// before one of the watches runs.
func New(address string) *WorkloadAPI {
	return &WorkloadAPI{address: address, changed: make(chan struct{})}
}

// Check says what is wrong with an address.
func Check(address string) error {
	if err := workloadapi.ValidateAddress(address); err != nil {
		return fmt.Errorf("%s: %w; write it as unix:///run/spire/agent.sock", Variable, err)
	}
	return nil
}

// State is what was said last, and is closed when something else is.
func (s *WorkloadAPI) State() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}

func (s *WorkloadAPI) change(f func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
	close(s.changed)
	s.changed = make(chan struct{})
}

// WatchSVIDs keeps the certificates of the workload until ctx ends.
func (s *WorkloadAPI) WatchSVIDs(ctx context.Context) {
	s.watch(ctx, func(c *workloadapi.Client) error { return c.WatchX509Context(ctx, svids{s}) })
}

// WatchBundles keeps the roots of trust domains until ctx ends.
func (s *WorkloadAPI) WatchBundles(ctx context.Context) {
	s.watch(ctx, func(c *workloadapi.Client) error { return c.WatchX509Bundles(ctx, bundles{s}) })
}

// again is how long a watch rests that its client has given up.
const again = 30 * time.Second

func (s *WorkloadAPI) watch(ctx context.Context, follow func(*workloadapi.Client) error) {
	for ctx.Err() == nil {
		if err := s.once(ctx, follow); err != nil && ctx.Err() == nil {
			s.change(func(now *State) { now.Err = err })
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

func (s *WorkloadAPI) once(ctx context.Context, follow func(*workloadapi.Client) error) error {
	if s.address == "" {
		return errNowhere
	}
	if err := Check(s.address); err != nil {
		return err
	}
	c, err := workloadapi.New(ctx, workloadapi.WithAddr(s.address))
	if err != nil {
		return s.because(err)
	}
	defer c.Close()
	return s.because(follow(c))
}

// because names the Workload API that an error is about.
func (s *WorkloadAPI) because(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the Workload API at %s: %w", s.address, err)
}

// failed says why there is nothing newer.
func (s *WorkloadAPI) failed(err error) {
	if err != nil {
		s.change(func(now *State) { now.Err = s.because(err) })
	}
}

// svids takes certificates.
type svids struct{ *WorkloadAPI }

func (s svids) OnX509ContextUpdate(x *workloadapi.X509Context) {
	var all []SVID
	for _, v := range x.SVIDs {
		all = append(all, SVID{v.ID.String(), v.Certificates, v.PrivateKey})
	}
	s.change(func(now *State) { now.SVIDs, now.Err = all, nil })
}

func (s svids) OnX509ContextWatchError(err error) { s.failed(err) }

// bundles takes roots.
type bundles struct{ *WorkloadAPI }

func (s bundles) OnX509BundlesUpdate(set *x509bundle.Set) {
	all := map[string][]*x509.Certificate{}
	for _, b := range set.Bundles() {
		all[b.TrustDomain().Name()] = b.X509Authorities()
	}
	s.change(func(now *State) { now.Bundles, now.Err = all, nil })
}

func (s bundles) OnX509BundlesWatchError(err error) { s.failed(err) }
