package roots

import (
	"bytes"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Value is one of the values that the Secret holds, nil while nobody knows it, and is closed
// when the Secret holds others.
func (r *Roots) Value(name string) (value []byte, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data[name], r.changed
}

// Change writes what change makes of a value, nil where there is none yet, over the newest
// Secret. When it returns it is stored; this control plane sees it as all others do.
func (r *Roots) Change(ctx context.Context, name string, change func(old []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r.mu.Lock()
		secret := r.secret
		r.mu.Unlock()
		if secret == nil {
			return fmt.Errorf("secret %s of namespace %s is not read; try again", SecretName, r.cfg.Namespace)
		}
		held := data(secret)
		next, err := change(held[name])
		if err != nil || bytes.Equal(next, held[name]) {
			return err
		}
		u := secret.DeepCopy()
		write(u, map[string][]byte{name: next})
		if _, err = r.secrets.Update(ctx, u, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
		select { // until what another has written is seen
		case <-time.After(again / 10):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
