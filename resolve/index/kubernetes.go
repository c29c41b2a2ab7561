package index

import (
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/pods"
)

// kubernetesPorts are the destinations that a Service of Kubernetes is: its TCP
// ports. One that is only a name for something else is none (spec/kubernetes.md 3).
func kubernetesPorts(o *api.Object, labels api.Labels, spec *api.Service) []*effective.Destination {
	var out []*effective.Destination
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if !p.OverTCP() || spec.External() || api.Ignored(o) || pods.IsAPIServer(o) {
			continue
		}
		d := destinationOf(o, labels, "", p.Port, p.Name, "")
		d.Kind, d.VIPs = api.KindMeshService, pods.Addresses(o, spec)
		d.Protocol, d.Guessed = p.Speaks(o)
		out = append(out, d)
	}
	return out
}

// IsOutside reports whether an object is a Service that is not in the mesh: its
// Namespace is there and does not say that it is, and neither does its own label
// (spec/kubernetes.md 3.1).
func (m Mesh) IsOutside(o *api.Object) bool {
	if o.Kind != api.KindService || o.Labels[api.LabelMesh] != "" {
		return false
	}
	n, _ := m.OtherObjects.Get(m.At, ObjectKey(api.Ref{Kind: api.KindNamespace, Name: o.HomeNamespace()}))
	if n == nil {
		return false
	}
	injection := n.Labels[api.LabelInjection]
	return injection != "enabled" && injection != "true" && n.Labels[api.LabelMesh] == ""
}

// JoinedAddress is one text for an address and port.
func JoinedAddress(address string, port uint32) string {
	return address + "\x02" + strconv.FormatUint(uint64(port), 10)
}
