package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// multiZoneMembers is who answers for the services that one across zones gathers: MeshServices,
// and the Services of a cluster, which are MeshServices whether or not somebody has written
// them (spec/kubernetes.md 3.2).
func (m servicesMesh) multiZoneMembers(spec *api.MeshMultiZoneService, port uint32) *members {
	if spec.Selector == nil || spec.Selector.MeshService == nil {
		return membersOf(nil)
	}
	want := spec.Selector.MeshService.MatchLabels
	var list []member
	for s := range m.Objects(api.KindMeshService, want) {
		list = append(list, m.selectedInbounds(s, s.Spec.(*api.MeshService), port)...)
	}
	out := membersOf(list)
	for s := range m.servicesCarrying(want, port) {
		x := m.kubernetesMembers(s.Object, s.Object.Spec.(*api.Service), port)
		out.waiting, out.left = append(out.waiting, x.waiting...), append(out.left, x.left...)
		if len(x.list) > 0 {
			out.http2 = x.http2 && (out.http2 || len(out.list) == 0)
		}
		for _, e := range x.list {
			if !slices.ContainsFunc(out.list, func(o effective.Endpoint) bool { return o.Address == e.Address && o.Port == e.Port }) {
				out.list = append(out.list, e)
			}
		}
	}
	return out
}

// servicesCarrying yields the Services of the mesh with a port that carry labels, as their
// MeshServices do, but for those in whose place somebody wrote one.
func (m servicesMesh) servicesCarrying(labels map[string]string, port uint32) iter.Seq[*index.Service] {
	bucket := api.KindService
	if len(labels) > 0 {
		bucket = index.Labelled(bucket, index.FirstPair(labels, ""))
	}
	return func(yield func(*index.Service) bool) {
		for o := range m.ObjectsByKind[m.ServiceObjects].Values(m.At, bucket) {
			s, _ := m.Services.Get(m.At, index.ObjectKey(o.Ref))
			if s == nil || !s.Labels.Carry(labels) || m.IsOutside(o) {
				continue
			}
			i := slices.IndexFunc(s.Dests, func(d *effective.Destination) bool { return d.Port == port })
			if i < 0 {
				continue
			}
			if owner, _ := m.OwnerOf(s.Dests[i].ID); owner == s && !yield(s) {
				return
			}
		}
	}
}
