package services

import (
	"iter"
	"maps"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/owned"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve/pods"
)

// seen is the cluster at one moment.
type seen struct {
	catalog  *api.Catalog
	now      *snapshot.Snapshot
	resolved *snapshot.Snapshot // nil while nothing was
}

// service is a Service in the mesh, or a pod of a headless one.
type service struct {
	object *api.Object // the Service or Pod
	mesh   string
	pod    *api.Object // the MeshService that the model makes of the pod
}

// Names implements [owned.View].
func (s *seen) Names() iter.Seq[owned.Key] {
	return func(yield func(owned.Key) bool) {
		for o := range s.now.OfKind(api.KindService) {
			if !yield(owned.Key{Namespace: o.Namespace, Name: o.Name}) {
				return
			}
		}
		if s.resolved != nil {
			for o := range s.resolved.OfKind(api.KindMeshService) {
				if pods.PartOf(o) != "" && !yield(owned.Key{Namespace: o.Namespace, Name: o.Name}) {
					return
				}
			}
		}
	}
}

// Wanted implements [owned.View].
func (s *seen) Wanted(n owned.Key) *owned.Object {
	of, ok := s.service(n)
	if !ok {
		return nil
	}
	return &owned.Object{Object: of.meshService(s.catalog), Owner: of.object}
}

// service is the Service of a name that is in the mesh (spec/kubernetes.md 3.1), or the pod of
// one that is headless.
func (s *seen) service(n owned.Key) (service, bool) {
	if s.resolved != nil {
		if o := world.In(s.resolved, api.Ref{Kind: api.KindMeshService, Namespace: n.Namespace, Name: n.Name}); o != nil && pods.PartOf(o) != "" {
			of, ok := s.plain(owned.Key{Namespace: o.Namespace, Name: pods.PartOf(o)})
			pod, there := s.now.Get(*o.From)
			if ok && of.mesh == o.Mesh && there && pod.UID() != "" {
				return service{pod, o.Mesh, o}, true
			}
		}
	}
	return s.plain(n)
}

// plain is the Service of a name that is in the mesh.
func (s *seen) plain(n owned.Key) (service, bool) {
	o := world.In(s.now, api.Ref{Kind: api.KindService, Namespace: n.Namespace, Name: n.Name})
	if o == nil {
		return service{}, false
	}
	mesh, ok := meshOf(o, world.NamespaceOf(s.now, n.Namespace))
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
