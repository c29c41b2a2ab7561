package kube

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/weftmesh/weft/api"
)

// The rhythm of questions what the API server serves: a definition is there before its
// resource is. One that is not served for longer is waited for no more.
const (
	again   = 200 * time.Millisecond
	seldom  = 10 * time.Second
	longest = 3 * time.Second
)

// kuma is the group of the kinds of Kuma.
const kuma = "kuma.io"

// installed are the feeds of one kind.
type installed struct {
	served  schema.GroupVersionResource
	kind    string
	version string // of the definition when it was looked at
	feeds   []*feed
}

// unserved is a definition whose kind cannot be read.
type unserved struct {
	since time.Time
	wrong *api.Violation // nil while it may only be too early
}

// install begins to read every kind as soon as it is served, and ends it when its
// definition is gone, until ctx ends.
func (s *Store) install(ctx context.Context) {
	kinds := map[string]*installed{}
	for _, t := range s.cfg.Catalog.Types() {
		if group, builtIn := builtIn(t); builtIn {
			s.begin(ctx, &installed{served: schema.GroupVersionResource{Group: group, Version: t.Version, Resource: t.Plural}}, t.Name, !t.Unscoped && !t.Global, s.decode(t), nil, bystands(t))
		}
	}
	for retry := time.Duration(0); ; {
		var timer <-chan time.Time
		if retry > 0 {
			timer = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.look:
		case <-timer:
		}
		retry = s.reconcile(ctx, kinds)
	}
}

// bystands reports whether nothing but the metadata of a type is read, and so asked for.
func bystands(t api.Type) bool {
	_, ok := t.New().(*api.Bystander)
	return ok
}

// builtIn reports whether a type is one of Kubernetes itself, which no definition defines,
// and its group. Groups without a dot are Kubernetes' own.
func builtIn(t api.Type) (group string, ok bool) {
	if t.Group == api.CoreGroup {
		return "", true
	}
	return t.Group, t.Group == "discovery.k8s.io" || t.Group != "" && !strings.Contains(t.Group, ".")
}

// reconcile makes the feeds those of the definitions that there are, and says when to
// look again unasked; zero for never.
func (s *Store) reconcile(ctx context.Context, kinds map[string]*installed) time.Duration {
	s.mu.Lock()
	defined, listed := maps.Clone(s.defined), s.listed
	s.mu.Unlock()
	if !listed {
		return 0
	}
	for name, k := range kinds {
		if _, ok := defined[name]; !ok {
			s.end(k)
			delete(kinds, name)
			s.cfg.Log.Info("a kind was removed from the cluster", "definition", name)
		}
	}
	found := discovered{of: s, lists: map[schema.GroupVersion]*metav1.APIResourceList{}}
	missing := map[string]*unserved{}
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if k := kinds[name]; k == nil || k.version != defined[name].version {
			if wrong := s.meet(ctx, kinds, name, defined[name], &found); wrong != nil {
				missing[name] = wrong
			}
		}
	}
	return s.settle(missing, found.failed)
}

// settle notes what is not served, and whether all that is was begun.
func (s *Store) settle(missing map[string]*unserved, failed error) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits, retry := failed != nil, time.Duration(0)
	for name, m := range missing {
		m.since = time.Now()
		if before := s.unserved[name]; before != nil {
			m.since = before.since
		}
		if time.Since(m.since) < longest && m.wrong.Code == codeNotServed {
			waits, retry = true, again
		}
		retry = cmp.Or(retry, seldom)
	}
	s.unserved = missing
	if failed != nil {
		retry = again
	}
	s.settled = s.settled || !waits
	s.notify()
	return retry
}

// codeNotServed marks a definition whose kind the API server does not serve.
const codeNotServed = "NotServed"

// meet begins to read the kind of a definition, or says why it cannot be read. Kinds that
// weft does not know are none of its business, but for those of Kuma.
func (s *Store) meet(ctx context.Context, kinds map[string]*installed, name string, d definition, found *discovered) *unserved {
	plural, group := groupOf(name)
	typ, known := s.typeOf(plural, group)
	if !known && group != kuma {
		return nil
	}
	if wrong := tooOld(name, group, d); wrong != nil {
		return &unserved{wrong: wrong}
	}
	var versions []string
	if known {
		versions = append([]string{cmp.Or(typ.Version, "v1alpha1")}, typ.Served...)
	}
	served, r, ok := found.resource(ctx, group, plural, versions)
	switch {
	case !ok:
		return &unserved{wrong: notServed(name, versions)}
	case kinds[name] != nil && kinds[name].served == served:
		kinds[name].version = d.version
		if known {
			s.serve(typ.Name, found.served(ctx, served, r, d))
		}
		return nil
	case kinds[name] != nil: // another version of the same objects
		s.halt(kinds[name])
	default:
		kinds[name] = &installed{}
	}
	k := kinds[name]
	k.served, k.version = served, d.version
	if known {
		k.kind = typ.Name
		s.serve(k.kind, found.served(ctx, served, r, d))
		s.begin(ctx, k, typ.Name, r.Namespaced, s.decode(typ), s.reporting(typ), false)
	} else {
		s.begin(ctx, k, r.Kind, r.Namespaced, foreign(r.Kind), nil, true)
	}
	return nil
}

// typeOf is the type of documents of a resource.
func (s *Store) typeOf(plural, group string) (api.Type, bool) {
	for _, t := range s.cfg.Catalog.Types() {
		if _, own := builtIn(t); !own && t.Plural == plural && cmp.Or(t.Group, kuma) == group {
			return t, true
		}
	}
	return api.Type{}, false
}

// begin follows a resource in the namespaces that are read, with the feeds that k has.
func (s *Store) begin(ctx context.Context, k *installed, kind string, namespaced bool, read reader, report func(any) *Report, metadata bool) {
	if len(k.feeds) == 0 {
		for _, r := range s.scopes(kind, namespaced) {
			f := &feed{connection: &connection{resource: r, of: s}, read: read, report: report,
				objects: map[string]*api.Object{}, wrong: map[string][]*api.Violation{}}
			f.optional = f.deny
			k.feeds = append(k.feeds, f)
		}
	}
	for _, f := range k.feeds {
		s.mu.Lock()
		f.GroupVersionResource = k.served
		s.feeds[f] = true
		s.mu.Unlock()
		ask := s.objectsOf(f.resource)
		if metadata {
			ask = s.metadataOf(f.resource)
		}
		running, stop := context.WithCancel(ctx)
		f.stop, f.done = stop, make(chan struct{})
		s.running.Go(func() {
			defer close(f.done)
			f.run(running, ask, f)
		})
	}
}

// scopes are the parts of a resource that are read.
func (s *Store) scopes(kind string, namespaced bool) []resource {
	if kind == api.KindSecret {
		return s.secretScopes()
	}
	namespaces := s.cfg.Namespaces
	if len(namespaces) == 0 || !namespaced && kind != api.KindNamespace {
		return []resource{{kind: kind}}
	}
	var all []resource
	for _, n := range namespaces {
		if kind == api.KindNamespace {
			all = append(all, resource{kind: kind, selector: "metadata.name=" + n})
		} else {
			all = append(all, resource{kind: kind, namespace: n})
		}
	}
	return all
}

// secretScopes are the Secrets that are read: all of some namespaces, and of that of the control
// planes those of meshes.
func (s *Store) secretScopes() (all []resource) {
	for _, n := range s.cfg.Secrets {
		all = append(all, resource{kind: api.KindSecret, namespace: n})
	}
	if n := s.cfg.MeshSecrets; n != "" && !slices.Contains(s.cfg.Secrets, n) {
		all = append(all, resource{kind: api.KindSecret, namespace: n, selector: "type=" + api.SecretMesh})
	}
	return all
}

// objectsOf asks for whole objects.
func (s *Store) objectsOf(r resource) requests {
	client := s.dynamic.Resource(r.GroupVersionResource).Namespace(r.namespace)
	return requests{
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return client.Watch(ctx, o) },
	}
}

// halt stops the reading of a kind, of which all stays in force.
func (s *Store) halt(k *installed) {
	for _, f := range k.feeds {
		f.stop()
		<-f.done
	}
}

// end stops the reading of a kind, of which nothing stays.
func (s *Store) end(k *installed) {
	s.halt(k)
	s.serve(k.kind, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range k.feeds {
		f.empty()
		delete(s.feeds, f)
		delete(s.told, f)
	}
	s.notify()
}
