// Package roots keeps the authority that the control planes of a cluster share, in a Secret
// of their namespace (spec/kubernetes.md 6.6).
//
// It promises that all replicas show certificates of the same authority, whoever of them
// was first; that an authority that can be read is never replaced by a new one, and one
// that cannot be read neither; that a Secret that is deleted while a control plane runs
// comes back as it was; and that what another writes there is followed without a
// connection being refused. Keys are in no message.
package roots

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/xds/server/authority"
)

// SecretName is that of the Secret.
const SecretName = "weft-ca"

// FaultAnnotation is that of the Lease of the leader which says why the authority cannot be read; absent
// while it can.
const FaultAnnotation = "weft.io/authority-fault"

const (
	// again is the pause before what failed is tried again, seldom between looks whether
	// a new root is due.
	again  = time.Second
	seldom = time.Hour
	// patience bounds one write, so that nobody writes long after looking.
	patience = 5 * time.Second
)

// Config says where the authority is kept and for whom it signs.
type Config struct {
	REST      *rest.Config
	Namespace string   // of the control planes
	Hosts     []string // names and addresses of this one
	// Others are what else the Secret holds from the first, by name, and who makes it.
	Others map[string]func() ([]byte, error)
	Now    func() time.Time
	Log    *slog.Logger
}

// Roots is the authority as this control plane knows it.
type Roots struct {
	cfg     Config
	secrets dynamic.ResourceInterface
	serving *authority.Serving
	wake    chan struct{} // has a token when the Secret has been seen

	mu      sync.Mutex
	read    bool                       // the Secret, or that there is none
	secret  *unstructured.Unstructured // as it was seen last
	bundle  *authority.Bundle          // the last one that could be read
	data    map[string][]byte          // all of the Secret, as it was then
	why     error                      // what is wrong now
	changed chan struct{}              // closed when data is other
}

var _ store.SharedSecrets = (*Roots)(nil)

// String is what people look for.
func (r *Roots) String() string { return "Secret " + SecretName }

// New reads nothing yet; Run does.
func New(cfg Config) (*Roots, error) {
	client, err := dynamic.NewForConfig(cfg.REST)
	if err != nil {
		return nil, err
	}
	secrets := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(cfg.Namespace)
	return &Roots{cfg: cfg, secrets: secrets, serving: authority.NewServing(nil, cfg.Now, cfg.Hosts...), wake: make(chan struct{}, 1), changed: make(chan struct{})}, nil
}

// TLS shows a certificate of the authority; until that is known it refuses connections.
func (r *Roots) TLS() *tls.Config { return r.serving.TLS() }

// TLSEarly is TLS, but that until the authority is known it shows a certificate that nobody
// trusts.
func (r *Roots) TLSEarly() *tls.Config {
	c := r.serving.TLS()
	known, early := c.GetCertificate, sync.OnceValues(func() (*tls.Certificate, error) { return untrusted(r.cfg.Hosts, r.cfg.Now) })
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if r.Waiting() == nil {
			return known(hello)
		}
		return early()
	}
	return c
}

// untrusted is a certificate of an authority that is forgotten at once.
func untrusted(hosts []string, now func() time.Time) (*tls.Certificate, error) {
	b, err := authority.NewBundle(now())
	if err != nil {
		return nil, err
	}
	return authority.NewServing(b, now, hosts...).TLS().GetCertificate(nil)
}

// PEM is what clients must trust, empty while nobody knows it, and is closed when it is
// another.
func (r *Roots) PEM() (ca []byte, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bundle == nil {
		return nil, r.changed
	}
	return r.bundle.PEM(), r.changed
}

// Waiting is why there is no authority yet; nil when there is one.
func (r *Roots) Waiting() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.bundle != nil:
		return nil
	case r.why != nil:
		return fmt.Errorf("there is no authority: %w", r.why)
	}
	return fmt.Errorf("there is no authority: Secret %s of namespace %s is not read yet", SecretName, r.cfg.Namespace)
}

// Fault is why the authority cannot be read or kept in step now, be it that one was read before; nil where
// it can.
func (r *Roots) Fault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// Run follows the Secret, and makes it where there is none, until ctx ends.
func (r *Roots) Run(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { kube.Single{Client: r.secrets, Name: SecretName, See: r.see, Failed: r.failed}.Run(ctx) })
	for next := time.Duration(0); ; {
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.wake:
		case <-timer.C:
		}
		timer.Stop()
		if next = seldom; r.step(ctx) != nil {
			next = again
		}
	}
}

// see takes the Secret as it is now.
func (r *Roots) see(u *unstructured.Unstructured) {
	r.mu.Lock()
	r.read, r.secret = true, u
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// failed says why the authority that is known may be old, once for each cause.
func (r *Roots) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil || r.why.Error() != err.Error() {
		r.cfg.Log.Warn("the authority of the cluster cannot be kept in step", "secret", r.cfg.Namespace+"/"+SecretName, "error", err)
	}
	r.why = err
}

// step does what is due: it takes what the Secret says, makes it, or adds a root. An error
// is noted, and worth another try.
func (r *Roots) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.mu.Lock()
	read, secret, kept := r.read, r.secret, r.data
	r.mu.Unlock()
	var err error
	switch {
	case !read:
		return nil
	case secret == nil:
		err = r.create(ctx, kept)
	default:
		err = r.follow(ctx, secret)
	}
	if err != nil && ctx.Err() == nil {
		r.failed(err)
	}
	return err
}

// create makes the Secret as it was known, or a new one. That another was faster is as good:
// then its Secret is seen.
func (r *Roots) create(ctx context.Context, kept map[string][]byte) error {
	if kept == nil {
		b, err := authority.NewBundle(r.cfg.Now())
		if err != nil {
			return err
		}
		kept = b.Data()
	}
	missing, err := r.missing(kept)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": SecretName, "namespace": r.cfg.Namespace, "labels": map[string]any{"app.kubernetes.io/name": "weft", "app.kubernetes.io/part-of": "weft"}}}}
	write(u, kept)
	write(u, missing)
	_, err = r.secrets.Create(ctx, u, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return err
	}
	r.cfg.Log.Info("made the authority of the cluster", "secret", r.cfg.Namespace+"/"+SecretName)
	return nil
}

// follow takes what the Secret says, and writes what is due by now. That another wrote
// meanwhile is as good: then that is seen.
func (r *Roots) follow(ctx context.Context, secret *unstructured.Unstructured) error {
	held := data(secret)
	b, err := authority.ParseBundle(held)
	if err != nil {
		return fmt.Errorf("secret %s of namespace %s: %w", SecretName, r.cfg.Namespace, err)
	}
	r.take(b, held)
	next, err := b.Next(r.cfg.Now())
	if err != nil {
		return err
	}
	missing, err := r.missing(held)
	if err != nil || next == b && len(missing) == 0 {
		return err
	}
	u := secret.DeepCopy()
	write(u, next.Data())
	write(u, missing)
	_, err = r.secrets.Update(ctx, u, metav1.UpdateOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	r.cfg.Log.Info("wrote what was due into the Secret of the authority", "secret", r.cfg.Namespace+"/"+SecretName)
	return nil
}

// missing are the Others that the Secret does not hold yet.
func (r *Roots) missing(held map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, fresh := range r.cfg.Others {
		if len(held[name]) > 0 {
			continue
		}
		var err error
		if out[name], err = fresh(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// take makes b the one that is served and trusted.
func (r *Roots) take(b *authority.Bundle, held map[string][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = nil
	same := r.bundle != nil && r.bundle.Equal(b)
	if same && maps.EqualFunc(r.data, held, bytes.Equal) {
		return
	}
	if !same && r.bundle != nil {
		r.cfg.Log.Info("the roots of the authority of the cluster are others now")
	}
	r.data = held
	if !same {
		r.bundle = b
		r.serving.Replace(b)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}
