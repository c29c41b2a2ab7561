package kube

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// definition is what the metadata of a CustomResourceDefinition tells.
type definition struct {
	version     string // of the object
	annotations map[string]string
}

var definitionsResource = resource{GroupVersionResource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	kind: "CustomResourceDefinition"}

// definitions is the store of the reflector of definitions.
type definitions struct{ of *Store }

var _ cache.ReflectorStore = definitions{}

// follow keeps the definitions of the cluster until ctx ends.
func (s *Store) follow(ctx context.Context) {
	c := &connection{resource: definitionsResource, of: s}
	c.run(ctx, s.metadataOf(c.resource), definitions{s})
}

// metadataOf asks for the metadata of a resource alone.
func (s *Store) metadataOf(r resource) requests {
	client := s.metadata.Resource(r.GroupVersionResource).Namespace(r.namespace)
	return requests{
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return client.Watch(ctx, o) },
	}
}

// Add takes a definition.
func (d definitions) Add(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.defined[m.GetName()] = definition{m.GetResourceVersion(), m.GetAnnotations()}
	d.of.lookAgain()
	return nil
}

// Update takes the new version of a definition.
func (d definitions) Update(obj any) error { return d.Add(obj) }

// Delete takes a definition away.
func (d definitions) Delete(obj any) error {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	delete(d.of.defined, key)
	d.of.lookAgain()
	return nil
}

// Replace takes all definitions that there are.
func (d definitions) Replace(list []any, _ string) error {
	there := make(map[string]definition, len(list))
	for _, obj := range list {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		there[m.GetName()] = definition{m.GetResourceVersion(), m.GetAnnotations()}
	}
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	d.of.defined, d.of.listed = there, true
	d.of.lookAgain()
	return nil
}

// Resync does nothing: nobody forgets.
func (d definitions) Resync() error { return nil }

// lookAgain wakes who installs feeds.
func (s *Store) lookAgain() {
	select {
	case s.look <- struct{}{}:
	default:
	}
}

// groupOf cuts the name of a definition, <plural>.<group>.
func groupOf(name string) (plural, group string) {
	plural, group, _ = strings.Cut(name, ".")
	return plural, group
}
