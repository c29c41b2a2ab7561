package kube

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weftmesh/weft/api"
)

// The rate of Fetch: what others ask the control plane makes it ask (spec/threats.md T7).
const (
	fetchesPerSecond = 50
	fetchesBurst     = 100
)

// Fetch asks the API server for one object that may not have been read yet, and returns nil
// where there is none, nor a definition of its kind. What it returns is in no snapshot.
func (s *Store) Fetch(ctx context.Context, kind, namespace, name string) (*api.Object, error) {
	typ, ok := s.catalog.Type(kind)
	if !ok {
		return nil, fmt.Errorf("weft knows no kind %s", kind)
	}
	at := schema.GroupVersionResource{Group: cmp.Or(typ.Group, kuma), Version: cmp.Or(typ.Version, "v1alpha1"), Resource: typ.Plural}
	if group, own := builtIn(typ); own {
		at.Group = group
	}
	u, err := s.ask.Resource(at).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, wrong := s.decode(typ)(u)
	if o == nil {
		for _, v := range wrong {
			return nil, v
		}
		return nil, fmt.Errorf("%s %s cannot be read", kind, name)
	}
	return o, nil
}
