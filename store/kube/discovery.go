package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
)

// discovery asks an API server what it serves. client-go's own client for that brings the
// types of all kinds of Kubernetes along, which would stand in the memory of every sidecar:
// control planes and sidecars are one program.
type discovery struct{ client rest.Interface }

// discoveryTimeout bounds one question.
const discoveryTimeout = 30 * time.Second

func newDiscovery(c *rest.Config) (discovery, error) {
	c = rest.CopyConfig(c)
	c.GroupVersion, c.Timeout = &schema.GroupVersion{}, discoveryTimeout
	c.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	return discovery{client}, err
}

// groups are those of the kinds that are not in the group without a name.
func (d discovery) groups(ctx context.Context) (*metav1.APIGroupList, error) {
	out := &metav1.APIGroupList{}
	return out, d.get(ctx, "/apis", out)
}

// resources are those of a version of a group; the error says that it is not found where
// the API server serves none.
func (d discovery) resources(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	out := &metav1.APIResourceList{}
	return out, d.get(ctx, "/apis/"+gv.String(), out)
}

func (d discovery) get(ctx context.Context, path string, into any) error {
	text, err := d.client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// discovered is what the API server serves, asked for once in a round.
type discovered struct {
	of     *Store
	lists  map[schema.GroupVersion]*metav1.APIResourceList
	failed error
}

// resource finds a resource in the first of some versions of a group, or in any where
// none is given.
func (d *discovered) resource(ctx context.Context, group, plural string, versions []string) (schema.GroupVersionResource, metav1.APIResource, bool) {
	if len(versions) == 0 {
		versions = d.versions(ctx, group)
	}
	for _, v := range versions {
		gv := schema.GroupVersion{Group: group, Version: v}
		for _, r := range d.list(ctx, gv).APIResources {
			if r.Name == plural {
				return gv.WithResource(plural), r, true
			}
		}
	}
	return schema.GroupVersionResource{}, metav1.APIResource{}, false
}

// served is how a resource is served that a definition defines.
func (d *discovered) served(ctx context.Context, as schema.GroupVersionResource, r metav1.APIResource, by definition) *Served {
	has := func(sub string) bool {
		return slices.ContainsFunc(d.list(ctx, as.GroupVersion()).APIResources, func(l metav1.APIResource) bool { return l.Name == as.Resource+"/"+sub })
	}
	return &Served{GroupVersionResource: as, Namespaced: r.Namespaced, Status: has("status"), Own: by.annotations[weftBundle] != ""}
}

// list is what one version of a group has.
func (d *discovered) list(ctx context.Context, gv schema.GroupVersion) *metav1.APIResourceList {
	if l := d.lists[gv]; l != nil {
		return l
	}
	l, err := d.of.discover.resources(ctx, gv)
	if err != nil && !apierrors.IsNotFound(err) {
		d.failed = errors.Join(d.failed, err)
	}
	if err != nil {
		l = &metav1.APIResourceList{}
	}
	d.lists[gv] = l
	return l
}

// versions are those of a group, the one that the API server prefers first.
func (d *discovered) versions(ctx context.Context, group string) []string {
	groups, err := d.of.discover.groups(ctx)
	if err != nil {
		d.failed = errors.Join(d.failed, err)
		return nil
	}
	for _, g := range groups.Groups {
		if g.Name == group {
			all := []string{g.PreferredVersion.Version}
			for _, v := range g.Versions {
				all = append(all, v.Version)
			}
			return all
		}
	}
	return nil
}

// Served is how the API server serves a kind.
type Served struct {
	schema.GroupVersionResource
	Namespaced bool
	// Status says that the status is written by itself.
	Status bool
	// Own says that the definition is weft's, which has a place for all that weft writes.
	Own bool
}

// Served is how a kind is served now; false where it is not installed.
func (s *Store) Served(kind string) (Served, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.serves[kind]
	return r, ok
}

// Gone reports whether a document that was not read is not there: its kind is served, and nothing
// is wrong with one of that name.
func (s *Store) Gone(kind, name string) bool {
	_, served := s.Served(kind)
	return served && !slices.ContainsFunc(s.Problems(), func(v *api.Violation) bool { return v.Object.Kind == kind && v.Object.Name == name })
}

// serve notes how a kind is served; nil for no more.
func (s *Store) serve(kind string, r *Served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r == nil {
		delete(s.serves, kind)
		return
	}
	s.serves[kind] = *r
}

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
