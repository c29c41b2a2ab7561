// Package writing writes to the cluster what the leader of its control planes writes
// (spec/kubernetes.md 6.2).
//
// It promises that nothing is written over what somebody else has written meanwhile: an
// object is created where there is none, a status is written for the version that it was
// computed from, and what is not ours stays. It decides nothing: what to write, and when, is
// the caller's, who also sees to it that only the leader writes.
package writing

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube"
)

// The managers of fields, as they stand in managedFields.
const objectManager = "weft"

// Writer writes to one cluster. It is safe for many goroutines.
type Writer struct {
	store   *kube.Store
	catalog *api.Catalog
	client  dynamic.Interface
}

// New writes to the cluster that s reads, by REST, which has to be fenced.
func New(s *kube.Store, catalog *api.Catalog, c *rest.Config) (*Writer, error) {
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("write to the cluster: %w", err)
	}
	return &Writer{s, catalog, client}, nil
}

// Create creates an object where there is none of its name: else store.ErrExists.
func (w *Writer) Create(ctx context.Context, o *api.Object) error {
	return w.create(ctx, o, func(*unstructured.Unstructured) {})
}

// create is Create of what add completes.
func (w *Writer) create(ctx context.Context, o *api.Object, add func(*unstructured.Unstructured)) error {
	client, err := w.of(o.Ref)
	if err != nil {
		return err
	}
	u, _, err := w.document(o)
	if err != nil {
		return err
	}
	add(u)
	_, err = client.Create(ctx, u, metav1.CreateOptions{FieldManager: objectManager})
	return named("create", o.Ref, err)
}

// of is where an object is written.
func (w *Writer) of(ref api.Ref) (dynamic.ResourceInterface, error) {
	if ref.Kind == api.KindSecret {
		return w.client.Resource(secrets).Namespace(ref.Namespace), nil
	}
	r, ok := w.store.Served(ref.Kind)
	if !ok {
		return nil, fmt.Errorf("%s: %w", ref, store.ErrNotServed)
	}
	if client := w.client.Resource(r.GroupVersionResource); !r.Namespaced {
		return client, nil
	} else {
		return client.Namespace(ref.Namespace), nil
	}
}

// named says in our words why the API server has not done something.
func named(what string, ref api.Ref, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s %s: %w: %w", what, ref, store.ErrExists, err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s %s: %w: %w", what, ref, store.ErrChanged, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s %s: %w: %w", what, ref, store.ErrGone, err)
	}
	return fmt.Errorf("%s %s: %w", what, ref, err)
}
