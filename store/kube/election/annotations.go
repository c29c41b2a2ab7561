package election

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weftmesh/weft/store"
)

// Annotation is an annotation of the Lease, by which leaders tell their successors what was done
// once and for all; empty where there is none.
func (e *Elector) Annotation(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	object, err := e.lease.Get(ctx, e.cfg.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the Lease of the leader: %w", err)
	}
	return object.GetAnnotations()[key], nil
}

// SetAnnotation writes an annotation of the Lease, which stays over all that become the leader. It
// fails with store.ErrNotLeading where this replica is not the leader.
func (e *Elector) SetAnnotation(ctx context.Context, key, value string) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	for {
		object, err := e.lease.Get(ctx, e.cfg.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("annotate the Lease of the leader: %w", err)
		}
		if (&held{object}).holder() != e.cfg.Identity || !e.Leads() {
			return store.ErrNotLeading
		}
		annotations := object.GetAnnotations()
		if annotations[key] == value {
			return nil
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		object.SetAnnotations(annotations)
		if _, err = e.lease.Update(ctx, object, metav1.UpdateOptions{}); err == nil {
			return nil
		} else if !apierrors.IsConflict(err) { // with a renewal
			return fmt.Errorf("annotate the Lease of the leader: %w", err)
		}
	}
}
