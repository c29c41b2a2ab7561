package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// Single follows one object of the API server by its name, which rights that name the
// object suffice for.
type Single struct {
	Client dynamic.ResourceInterface
	Name   string
	// See is told of every version of the object, and nil where there is none: at the
	// beginning too. It is called from one goroutine, and must not change the object.
	See func(*unstructured.Unstructured)
	// Failed is told why the API server cannot be asked; it is asked again.
	Failed func(error)
}

// Run follows until ctx ends.
func (s Single) Run(ctx context.Context) {
	backoff := pauses
	only := fields.OneTermEqualSelector("metadata.name", s.Name).String()
	heard := func(err error) {
		if err != nil && ctx.Err() == nil {
			s.Failed(err)
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			list, err := s.Client.List(ctx, o)
			heard(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			w, err := s.Client.Watch(ctx, o)
			heard(err)
			return w, err
		},
	}
	cache.NewReflectorWithOptions(lw, nil, single{s}, cache.ReflectorOptions{Name: s.Name, Backoff: &backoff}).RunWithContext(quiet(ctx))
}

// single is the store of the reflector of one object.
type single struct{ of Single }

var _ cache.ReflectorStore = single{}

// Add takes the object.
func (s single) Add(obj any) error {
	if u, ok := obj.(*unstructured.Unstructured); ok && u.GetName() == s.of.Name {
		s.of.See(u)
	}
	return nil
}

// Update takes a new version of it.
func (s single) Update(obj any) error { return s.Add(obj) }

// Delete says that it is gone.
func (s single) Delete(any) error {
	s.of.See(nil)
	return nil
}

// Replace takes what there is: the object, or none.
func (s single) Replace(list []any, _ string) error {
	if len(list) == 0 {
		s.of.See(nil)
		return nil
	}
	return s.Add(list[0])
}

// Resync does nothing: nobody forgets.
func (single) Resync() error { return nil }
