package services

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
func (m Mesh) multiZoneMembers(spec *api.MeshMultiZoneService, port uint32) *Members {
	if spec.Selector == nil || spec.Selector.MeshService == nil {
		return membersOf(nil)
	}
	want := spec.Selector.MeshService.MatchLabels
	var list []Member
	for s := range m.Objects(api.KindMeshService, want) {
		list = append(list, m.SelectedInbounds(s, s.Spec.(*api.MeshService), port)...)
	}
	out := membersOf(list)
	for s := range m.servicesCarrying(want, port) {
		x := m.kubernetesMembers(s.Object, s.Object.Spec.(*api.Service), port)
		out.Waiting, out.Left = append(out.Waiting, x.Waiting...), append(out.Left, x.Left...)
		if len(x.List) > 0 {
			out.HTTP2 = x.HTTP2 && (out.HTTP2 || len(out.List) == 0)
		}
		for _, e := range x.List {
			if !slices.ContainsFunc(out.List, func(o effective.Endpoint) bool { return o.Address == e.Address && o.Port == e.Port }) {
				out.List = append(out.List, e)
			}
		}
	}
	return out
}

// servicesCarrying yields the Services of the mesh with a port that carry labels, as their
// MeshServices do, but for those in whose place somebody wrote one.
func (m Mesh) servicesCarrying(labels map[string]string, port uint32) iter.Seq[*index.Service] {
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
