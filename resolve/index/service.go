package index

import (
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/resolve/vips"
)

// Service is one object that is a destination, read once.
type Service struct {
	Object *api.Object
	Labels api.Labels
	Dests  []*effective.Destination
}

// NewService reads the ports of an object of one of the service kinds.
func NewService(o *api.Object, zone map[string]string) *Service {
	s := &Service{Object: o, Labels: api.LabelsOf(o, zone)}
	switch spec := o.Spec.(type) {
	case *api.MeshService:
		for _, p := range spec.Ports {
			s.Dests = append(s.Dests, destinationOf(o, s.Labels, "", p.Port, p.Name, p.AppProtocol))
		}
	case *api.Service:
		s.Labels.Written = pods.MadeLabels(o, spec) // selectors mean the MeshService of it too
		s.Dests = kubernetesPorts(o, s.Labels, spec)
	case *api.MeshMultiZoneService:
		for _, p := range spec.Ports {
			s.Dests = append(s.Dests, destinationOf(o, s.Labels, "mzsvc_", p.Port, p.Name, p.AppProtocol))
		}
	case *api.MeshExternalService:
		if spec.Match != nil {
			d := destinationOf(o, s.Labels, "extsvc_", spec.Match.Port, "", spec.Match.Protocol)
			d.External = spec
			s.Dests = append(s.Dests, d)
		}
	}
	return s
}

// destinationOf names one port of a service object (names: spec/xds.md 2).
func destinationOf(o *api.Object, labels api.Labels, prefix string, port uint32, portName, protocol string) *effective.Destination {
	d := &effective.Destination{
		Kind: o.Kind, Name: o.DisplayName(), Namespace: o.HomeNamespace(), Port: port, PortName: portName,
		Protocol: ProtocolOf(protocol), Labels: labels, Ref: o.Ref,
	}
	full := o.Name
	if d.Namespace != "" {
		full = d.ClusterNames()[0]
	}
	number := strconv.FormatUint(uint64(port), 10)
	if d.PortName == "" {
		d.PortName = number
	}
	d.ID = prefix + full + ":" + number
	d.Hostnames = []string{d.Name, d.Name + ".mesh"}
	if d.Namespace != "" {
		d.Hostnames = append(d.Hostnames, full, full+effective.ClusterDomain)
	}
	if st, ok := o.Status.(*api.ServiceStatus); ok && st != nil {
		for _, a := range st.Addresses {
			if a.HostnameGeneratorRef == nil { // else it holds as long as its generator says so
				d.Hostnames = append(d.Hostnames, a.Hostname)
			}
		}
		for _, v := range st.VIPs {
			d.VIPs = append(d.VIPs, v.IP)
		}
	}
	return d
}

// ProtocolOf is the protocol that a document names, TCP where weft knows no requests of it.
func ProtocolOf(text string) api.Protocol {
	if p := api.Protocol(text); p.HTTPLike() {
		return p
	}
	return api.TCP
}

// ClassicID is the id of a kuma.io/service: its name, marked where the colon in
// it would make it the id of a port of a service object.
func ClassicID(name string) string {
	if strings.Contains(name, ":") {
		return "classic_" + name
	}
	return name
}

// ClassicName is the kuma.io/service that has the id.
func ClassicName(id string) string {
	if name, ok := strings.CutPrefix(id, "classic_"); ok && strings.Contains(name, ":") {
		return name
	}
	return id
}

// ShortNames are those of the kinds whose objects are given virtual addresses, as in a KRI.
var ShortNames = map[string]string{
	api.KindMeshService: "msvc", api.KindMeshExternalService: "extsvc", api.KindMeshMultiZoneService: "mzsvc",
}

// Virtual reports whether the object is one that is given a virtual address where nothing is
// stored: somebody wrote it, rather than it following from a Service of a cluster
// (spec/kubernetes.md 3.8).
func (s *Service) Virtual() bool {
	return ShortNames[s.Object.Kind] != "" && s.Object.From == nil && s.Object.Labels[api.LabelManagedBy] != api.ManagedByController
}

// StoredVIPs yields the addresses in the status of the object. A twin follows from the address
// that it belongs to.
func (s *Service) StoredVIPs() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		st, ok := s.Object.Status.(*api.ServiceStatus)
		if !ok || st == nil || !s.Virtual() {
			return
		}
		for _, v := range st.VIPs {
			a, err := netip.ParseAddr(v.IP)
			if a = a.Unmap(); err != nil || a.Is6() && vips.Pooled(a) {
				continue
			}
			if !yield(a) {
				return
			}
		}
	}
}

// KRI identifies the object of a service.
func (s *Service) KRI() string {
	zone, _ := s.Labels.Get(api.LabelZone)
	return api.KRI{Short: ShortNames[s.Object.Kind], Mesh: s.Object.Mesh, Zone: zone, Namespace: s.Object.HomeNamespace(), Name: s.Object.DisplayName()}.String()
}

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
	return tuple.Join(address, strconv.FormatUint(uint64(port), 10))
}

// service reads an object of one of the service kinds. That of a pod of a headless Service
// speaks what the Service says, and is a part of it (spec/kubernetes.md 3.6).
func (m Mesh) service(o *api.Object) *Service {
	s := NewService(o, m.ZoneLabels)
	name := pods.PartOf(o)
	if name == "" {
		return s
	}
	of, _ := m.ServiceObjects.Get(m.At, ObjectKey(api.Ref{Kind: api.KindService, Namespace: o.Namespace, Name: name}))
	if of == nil {
		return s
	}
	whole := NewService(of, m.ZoneLabels)
	ports := o.Spec.(*api.MeshService).Ports
	for i, d := range s.Dests {
		j := slices.IndexFunc(whole.Dests, func(w *effective.Destination) bool { return w.PortName == ports[i].Name || ports[i].Name == "" })
		if j < 0 {
			continue
		}
		w := whole.Dests[j]
		d.Protocol, d.Guessed, d.PortName = w.Protocol, w.Guessed, w.PortName
		d.Above = &matcher.Service{Kind: w.Kind, Name: w.Name, Object: of.Name, Namespace: w.Namespace, Labels: w.Labels, Port: w.Port, PortName: w.PortName}
	}
	return s
}

func (c *Stage) addServices() {
	c.Services = derive.Derive(c.Schema, "services read", c.ServiceObjects, derive.Values[Service]{}, func(r *derive.Reader, key string) *Service {
		o, _ := c.ServiceObjects.Get(r, key)
		if !c.Mesh(r).admitted(o) {
			return nil // of which there is a note
		}
		return c.Mesh(r).service(o)
	})
}
