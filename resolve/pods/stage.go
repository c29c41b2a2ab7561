package pods

import (
	"iter"
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/derive"
)

// Stage is what follows from the documents of all meshes together, before each mesh has
// those that are its own: the Dataplanes of pods, and in which mesh a Service is. One
// Stage serves all models that are made from one another.
type Stage struct {
	zone        string
	unselecting []string
	schema      *derive.Schema

	// What is written, by ref.
	pods, services, slices, namespaces, nodes, owners *derive.Collection[api.Object]

	podsByName, servicesBySelector, namespacesByName, ownersByName *derive.Index[api.Object]

	// What of it concerns others, so that a change of the rest concerns nobody.
	spaces  *derive.Collection[api.Object] // namespaces, by name
	hosts   *derive.Collection[api.Object] // nodes
	above   *derive.Collection[api.Object] // whose a ReplicaSet or Job is
	naming  *derive.Collection[api.Object] // slices of Services without a selector
	namedBy *derive.Index[api.Object]

	forms        *derive.Collection[form] // by namespace/name of the pod
	formsByNoted *derive.Index[form]
	planes       *derive.Collection[api.Object]
	placed       *derive.Collection[api.Object] // Services, by their written refs
	placedSlices *derive.Collection[api.Object]
	headless     *derive.Collection[instances]  // by the written refs of Services
	perPod       *derive.Collection[api.Object] // MeshServices of theirs
	perPodByRef  *derive.Index[api.Object]
}

// NewStage is that of a control plane of a zone. Unselecting are as Around has them.
func NewStage(zone string, unselecting ...string) *Stage {
	s := &Stage{zone: zone, unselecting: unselecting, schema: &derive.Schema{}}
	s.addSources()
	s.addReduced()
	s.addMeshes()
	s.addPlanes()
	s.addHeadless()
	return s
}

// New is the stage without a document.
func (s *Stage) New() *derive.Graph { return s.schema.New() }

// source is where documents of a kind are; nil for those that take no part.
func (s *Stage) source(kind string) *derive.Collection[api.Object] {
	switch kind {
	case api.KindPod:
		return s.pods
	case api.KindService:
		return s.services
	case api.KindEndpointSlice:
		return s.slices
	case api.KindNamespace:
		return s.namespaces
	case api.KindNode:
		return s.nodes
	case api.KindReplicaSet, api.KindJob:
		return s.owners
	}
	return nil
}

// Alone reports whether documents of the kind mean something to the stage alone, and
// nothing to the mesh that they are in.
func Alone(kind string) bool {
	switch kind {
	case api.KindPod, api.KindNode, api.KindReplicaSet, api.KindJob:
		return true
	}
	return false
}

func inSpace(namespace, what string) string { return namespace + "/" + what }

// pair is one label.
func pair(k, v string) string { return tuple.Join(k, v) }

func (s *Stage) addSources() {
	add := func(name string) *derive.Collection[api.Object] {
		return derive.Source(s.schema, name, derive.Values[api.Object]{})
	}
	s.pods, s.services, s.slices = add("pods"), add("services of the cluster"), add("slices of the cluster")
	s.namespaces, s.nodes, s.owners = add("namespaces"), add("nodes"), add("owners")
	byName := func(c *derive.Collection[api.Object]) *derive.Index[api.Object] {
		return c.Index(func(_ string, o *api.Object, add func(string)) { add(inSpace(o.Namespace, o.Name)) })
	}
	s.podsByName, s.namespacesByName = byName(s.pods), byName(s.namespaces)
	s.ownersByName = s.owners.Index(func(_ string, o *api.Object, add func(string)) { add(inSpace(o.Namespace, o.Kind+"/"+o.Name)) })
	s.servicesBySelector = s.services.Index(func(_ string, o *api.Object, add func(string)) {
		spec, ok := o.Spec.(*api.Service)
		if ok {
			if left := without(spec.Selector, s.unselecting); len(left) > 0 {
				spec = &api.Service{Selector: left}
			}
		}
		if ok && len(spec.Selector) > 0 {
			k := first(spec.Selector)
			add(inSpace(o.Namespace, pair(k, spec.Selector[k])))
		} else {
			add(inSpace(o.Namespace, o.Name)) // which is found by its slices
		}
	})
}

// first is the least key of a map that is not empty.
func first(m map[string]string) string {
	var least string
	for k := range m {
		if least == "" || k < least {
			least = k
		}
	}
	return least
}

// reduced derives what of the values of a collection concerns others.
func (s *Stage) reduced(name string, over derive.Keys, f func(r *derive.Reader, key string) *api.Object) *derive.Collection[api.Object] {
	return derive.Derive(s.schema, name, over, derive.Values[api.Object]{Equal: equal[api.Object]}, f)
}

// equal compares content. It is asked where a change may have left a value as it was.
func equal[T any](a, b *T) bool { return reflect.DeepEqual(a, b) }

// one is the first of a bucket, nil where there is none: documents of several meshes may
// have one name.
func one(r *derive.Reader, i *derive.Index[api.Object], bucket string) *api.Object {
	for o := range i.Values(r, bucket) {
		return o
	}
	return nil
}

func (s *Stage) addReduced() {
	s.spaces = s.reduced("namespaces read", s.namespacesByName, func(r *derive.Reader, name string) *api.Object {
		o := one(r, s.namespacesByName, name)
		out := &api.Object{Ref: o.Ref, Labels: map[string]string{}}
		if m := o.Labels[api.LabelMesh]; m != "" {
			out.Labels[api.LabelMesh] = m
		}
		if o.Meta != nil {
			out.Meta = &api.Meta{Annotations: o.Meta.Annotations, Deleting: o.Meta.Deleting}
		}
		return out
	})
	s.hosts = s.reduced("nodes read", s.nodes, func(r *derive.Reader, key string) *api.Object {
		o, _ := s.nodes.Get(r, key)
		return &api.Object{Ref: o.Ref, Labels: nodeLabels(o)}
	})
	s.above = s.reduced("owners read", s.ownersByName, func(r *derive.Reader, name string) *api.Object {
		o := one(r, s.ownersByName, name)
		if o.Meta == nil || len(o.Meta.Owners) == 0 {
			return nil
		}
		return &api.Object{Ref: o.Ref, Meta: &api.Meta{Owners: o.Meta.Owners[:1]}}
	})
	s.naming = s.reduced("slices read", s.slices, s.named)
	s.namedBy = s.naming.Index(func(_ string, o *api.Object, add func(string)) {
		for _, uid := range uidsOf(o) {
			add(inSpace(o.Namespace, uid))
		}
	})
}

// named is a slice with what says whose endpoints are whose pods, where the Service has no
// selector that would say it.
func (s *Stage) named(r *derive.Reader, key string) *api.Object {
	o, _ := s.slices.Get(r, key)
	service := o.Labels[api.LabelServiceName]
	if one(r, s.servicesBySelector, inSpace(o.Namespace, service)) == nil {
		return nil
	}
	out := &api.EndpointSlice{}
	for _, uid := range uidsOf(o) {
		out.Endpoints = append(out.Endpoints, api.SliceAddress{TargetRef: &api.SliceTarget{UID: uid}})
	}
	return &api.Object{Ref: o.Ref, Labels: map[string]string{api.LabelServiceName: service}, Spec: out}
}

// Update is the stage after changes of documents, and what follows from them: changes of
// objects that nobody wrote, Dataplanes and MeshServices of pods; and of Services and
// EndpointSlices as they are placed.
func (s *Stage) Update(before *derive.Graph, changes []snapshot.Change) (after *derive.Graph, made, placed []snapshot.Change) {
	var list []derive.Change
	for _, ch := range changes {
		if c := s.source(ch.Ref().Kind); c != nil {
			list = append(list, c.Put(ch.Ref().String(), ch.After))
		}
	}
	if len(list) == 0 {
		return before, nil, nil
	}
	after, delta := before.Update(list...)
	return after, slices.Concat(between(s.planes, delta), between(s.perPod, delta)), slices.Concat(between(s.placed, delta), between(s.placedSlices, delta))
}

// between are the changes of a collection, where what moves goes from one place and comes
// to another.
func between(c *derive.Collection[api.Object], delta *derive.Delta) []snapshot.Change {
	var out []snapshot.Change
	for was, is := range c.Changes(delta) {
		switch {
		case was != nil && is != nil && was.Ref != is.Ref:
			out = append(out, snapshot.Change{Before: was}, snapshot.Change{After: is})
		case was != nil || is != nil: // else it failed, before or now
			out = append(out, snapshot.Change{Before: was, After: is})
		}
	}
	return out
}

// Made is the object with that ref that nobody wrote; nil where there is none.
func (s *Stage) Made(g *derive.Graph, ref api.Ref) *api.Object {
	switch ref.Kind {
	case api.KindDataplane:
		if o, _ := s.planes.Get(g, inSpace(ref.Namespace, ref.Name)); o != nil && o.Ref == ref {
			return o
		}
	case api.KindMeshService:
		for o := range s.perPodByRef.Values(g, ref.String()) {
			return o
		}
	}
	return nil
}

// PlaneOf is the Dataplane of a pod; nil where it has none.
func (s *Stage) PlaneOf(g *derive.Graph, pod api.Ref) *api.Object {
	if o, _ := s.planes.Get(g, inSpace(pod.Namespace, pod.Name)); o != nil && *o.From == pod {
		return o
	}
	return nil
}

// Placed is where a Service or EndpointSlice is that was written with the ref.
func (s *Stage) Placed(g *derive.Graph, ref api.Ref) api.Ref {
	for _, c := range []*derive.Collection[api.Object]{s.placed, s.placedSlices} {
		if o, _ := c.Get(g, ref.String()); o != nil {
			return o.Ref
		}
	}
	return ref
}

// Namespaces yields those that hold, by name.
func (s *Stage) Namespaces(g *derive.Graph) iter.Seq[*api.Object] {
	return func(yield func(*api.Object) bool) {
		for o := range s.spaces.Values(g) {
			if !yield(s.Namespace(g, o.Name)) {
				return
			}
		}
	}
}

// Namespace is the one that holds of those by a name; nil where there is none.
func (s *Stage) Namespace(g *derive.Graph, name string) *api.Object {
	for o := range s.namespacesByName.Values(g, inSpace("", name)) {
		return o
	}
	return nil
}
