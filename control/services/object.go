package services

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// seen is the cluster at one moment. It looks at names one by one: what it costs follows what
// is asked.
type seen struct {
	store    *kube.Store
	now      *api.Snapshot
	resolved *api.Snapshot // nil while nothing was
}

// service is a Service in the mesh, or a pod of a headless one.
type service struct {
	object *api.Object // the Service or Pod
	mesh   string
	pod    *api.Object // the MeshService that the model makes of the pod
}

// made is a MeshService that weft has written.
type made struct {
	ref    api.Ref
	report kube.Report
}

// see looks at the cluster as it is.
func (k *Keeper) see() *seen {
	s := &seen{store: k.Store, now: k.Store.Snapshot()}
	if m := k.Model(); m != nil {
		s.resolved = m.Snapshot()
	}
	return s
}

// names are all that there may be something to write of.
func (s *seen) names() iter.Seq[key] {
	return func(yield func(key) bool) {
		for o := range s.now.OfKind(api.KindService) {
			if !yield(key{o.Namespace, o.Name}) {
				return
			}
		}
		if s.resolved != nil {
			for o := range s.resolved.OfKind(api.KindMeshService) {
				if pods.PartOf(o) != "" && !yield(key{o.Namespace, o.Name}) {
					return
				}
			}
		}
		for ref := range s.store.Made() {
			if !yield(key{ref.Namespace, ref.Name}) {
				return
			}
		}
	}
}

// written reports whether somebody else has written the MeshService of a name.
func (s *seen) written(n key) bool {
	r, ok := s.store.Report(api.Ref{Kind: api.KindMeshService, Namespace: n.namespace, Name: n.name})
	return ok && r.Made == nil
}

// made is the MeshService of a name that weft has written.
func (s *seen) made(n key) (made, bool) {
	r, ok := s.store.Report(api.Ref{Kind: api.KindMeshService, Namespace: n.namespace, Name: n.name})
	if !ok || r.Made == nil {
		return made{}, false
	}
	return made{api.Ref{Kind: api.KindMeshService, Mesh: r.Made.Mesh, Namespace: n.namespace, Name: n.name}, r}, true
}

// service is the Service of a name that is in the mesh (spec/kubernetes.md 3.1), or the pod of
// one that is headless.
func (s *seen) service(n key) (service, bool) {
	if s.resolved != nil {
		if o := world.In(s.resolved, api.Ref{Kind: api.KindMeshService, Namespace: n.namespace, Name: n.name}); o != nil && pods.PartOf(o) != "" {
			of, ok := s.plain(key{o.Namespace, pods.PartOf(o)})
			pod, there := s.now.Get(*o.From)
			if ok && of.mesh == o.Mesh && there && pod.UID() != "" {
				return service{pod, o.Mesh, o}, true
			}
		}
	}
	return s.plain(n)
}

// plain is the Service of a name that is in the mesh.
func (s *seen) plain(n key) (service, bool) {
	o := world.In(s.now, api.Ref{Kind: api.KindService, Namespace: n.namespace, Name: n.name})
	if o == nil {
		return service{}, false
	}
	mesh, ok := meshOf(o, world.NamespaceOf(s.now, n.namespace))
	return service{object: o, mesh: mesh}, ok && s.now.Has(api.Ref{Kind: api.KindMesh, Name: mesh})
}

// meshOf is the mesh that a Service is in, if it is in one.
func meshOf(o, space *api.Object) (mesh string, ok bool) {
	spec, is := o.Spec.(*api.Service)
	if !is || spec.External() || api.Ignored(o) || pods.IsAPIServer(o) || o.UID() == "" {
		return "", false
	}
	if m := o.Labels[api.LabelMesh]; m != "" {
		return m, true
	}
	if space == nil {
		return "", false
	}
	if m := space.Labels[api.LabelMesh]; m != "" {
		return m, true
	}
	injection := space.Labels[api.LabelInjection]
	return api.DefaultMesh, injection == "enabled" || injection == "true"
}

// meshService is the MeshService of a Service.
func (s service) meshService(catalog *api.Catalog) *api.Object {
	if s.pod != nil {
		out := &api.Object{Ref: s.pod.Ref, Labels: maps.Clone(s.pod.Labels), Spec: s.pod.Spec}
		out.Labels[api.LabelMesh] = s.mesh
		maps.Copy(out.Labels, catalog.ShownLabels(out))
		return out
	}
	o, spec := s.object, s.object.Spec.(*api.Service)
	out := &api.Object{Ref: api.Ref{Kind: api.KindMeshService, Mesh: s.mesh, Namespace: o.Namespace, Name: o.Name}, Labels: pods.MadeLabels(o, spec)}
	delete(out.Labels, api.LabelDisplayName)
	out.Labels[api.LabelMesh], out.Labels[api.LabelEnv] = s.mesh, api.EnvKubernetes
	maps.Copy(out.Labels, catalog.ShownLabels(out))
	to := &api.MeshService{Selector: &api.ServiceSelector{DataplaneTags: maps.Clone(spec.Selector)}}
	if to.Selector.DataplaneTags == nil {
		to.Selector.DataplaneTags = map[string]string{}
	}
	to.Selector.DataplaneTags[api.LabelNamespace] = o.Namespace
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if !p.OverTCP() {
			continue
		}
		protocol, _ := p.Speaks(o)
		to.Ports = append(to.Ports, api.ServicePort{Port: p.Port, TargetPort: p.TargetPort, Name: p.Name, AppProtocol: string(protocol)})
	}
	out.Spec = to
	return out
}

func (s service) owner() writing.Owner {
	return writing.Owner{Kind: s.object.Kind, Name: s.object.Name, UID: s.object.UID()}
}

// ref is what the model knows it by.
func (s service) ref() api.Ref {
	if s.pod != nil {
		return s.pod.Ref
	}
	return api.Ref{Kind: api.KindService, Mesh: s.mesh, Namespace: s.object.Namespace, Name: s.object.Name}
}

// says reports whether the object says what it should.
func (m made) says(want *api.Object, owner writing.Owner) bool {
	text, err := json.Marshal(want.Spec)
	if err != nil {
		return false
	}
	var is, should any
	if json.Unmarshal(text, &should) != nil || json.Unmarshal(m.report.Made.Spec, &is) != nil {
		return false
	}
	return m.report.Made.Owner == owner.UID && maps.Equal(m.report.Made.Labels, want.Labels) && reflect.DeepEqual(is, should)
}

// report is what writes the status of an object, if it differs.
func (k *Keeper) report(m made, of api.Ref) func(context.Context) error {
	r := k.Status(of)
	if r == nil {
		return nil
	}
	want, err := status.Values(r)
	if err != nil {
		return func(context.Context) error { return err }
	}
	want["observedGeneration"] = float64(m.report.Generation)
	status.Stamp(want, status.Object(m.report.Status), m.report.Generation, time.Now())
	if status.Says(m.report.Status, want) {
		return nil
	}
	return func(ctx context.Context) error { return k.Writer.Status(ctx, m.ref, m.report.Version, want) }
}
