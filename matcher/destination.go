package matcher

import (
	"cmp"
	"strconv"

	"github.com/weftmesh/weft/api"
)

// Service is what a ref may ask about a destination.
type Service struct {
	Kind      string
	Name      string // display name
	Object    string // name of its object, where that differs
	Namespace string
	Labels    api.Labels
	Port      uint32
	PortName  string
	Classic   bool // a kuma.io/service without an object
	// Above is the service that it is a part of: a ref that selects that selects it too.
	Above *Service
}

// Itself is s without what it is a part of.
func (s *Service) Itself() *Service {
	if s.Above == nil {
		return s
	}
	alone := *s
	alone.Above = nil
	return &alone
}

// Destination reports whether a ref in to[] or backendRefs, written in an object
// of namespace home, selects the service. Mesh selects every one; a ref with a
// namespace means a service object, never a kuma.io/service, which has none.
func Destination(ref api.TargetRef, home api.Home, s *Service) bool {
	if s.Above != nil && Destination(ref, home, s.Above) {
		return true
	}
	switch ref.Kind {
	case api.KindMesh:
		return true
	case api.KindMeshService, api.KindMeshServiceSubset:
		return s.Kind == api.KindMeshService && named(ref, home, s) && Section(ref.SectionName, s)
	case api.KindService: // it and its MeshService are one
		return s.Kind == api.KindMeshService && !s.Classic && named(ref, home, s) && Section(ref.SectionName, s)
	case api.KindMeshExternalService, api.KindMeshMultiZoneService:
		return s.Kind == ref.Kind && named(ref, home, s) && Section(ref.SectionName, s)
	case api.KindHost:
		return s.Kind == ref.Kind && s.Name == ref.Name && Claims(ref, s)
	case api.KindAddress:
		return s.Kind == ref.Kind && s.Name == ref.Name
	}
	return false
}

// Claims reports whether what a route says of hosts at a port is about the host s, but for its
// name: the port is that of s, and what acts in one namespace alone is about s as that one has it.
func Claims(ref api.TargetRef, s *Service) bool {
	return Section(ref.SectionName, s) && (ref.Namespace == "" || s.Namespace == "" || s.Namespace == ref.Namespace)
}

func named(ref api.TargetRef, home api.Home, s *Service) bool {
	if ref.Name == "" {
		return !s.Classic && len(ref.Labels) > 0 && s.Labels.Carry(ref.Labels) &&
			(s.Namespace == home.Namespace || !nameOnly(ref.Labels, home))
	}
	if s.Classic {
		return ref.Name == s.Name && ref.SectionName == "" && ref.Namespace == ""
	}
	if name, ns, port, ok := api.KubeName(ref.Name); ok && name == s.Name && ns == s.Namespace {
		return port == s.Port
	}
	if ref.Name != s.Name && ref.Name != s.Object {
		return false
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = home.Namespace
	}
	return namespace == "" || namespace == s.Namespace
}

// nameOnly reports whether labels say no more than a name, which then means one
// in the namespace of the writer, as a name does (spec/kuma.md 2.3). Operators
// write about all namespaces.
func nameOnly(labels map[string]string, home api.Home) bool {
	return len(labels) == 1 && labels[api.LabelDisplayName] != "" && !home.System
}

// Section reports whether a sectionName means the service's port: by its name or
// its number; an empty one means every port.
func Section(name string, s *Service) bool {
	return name == "" || name == s.PortName || name == strconv.FormatUint(uint64(s.Port), 10)
}

// RouteObject is what a ref may ask about a route object.
type RouteObject struct {
	Kind, Name, Namespace string
	Labels                api.Labels
}

// RouteOf reads the facts of a route object of a control plane that computes the
// labels of zone.
func RouteOf(o *api.Object, zone map[string]string) RouteObject {
	return RouteObject{Kind: o.Kind, Name: o.Name, Namespace: o.HomeNamespace(), Labels: api.LabelsOf(o, zone)}
}

// Route reports whether a ref to a route, written in an object of namespace
// home, selects the route object.
func Route(ref api.TargetRef, home api.Home, r *RouteObject) bool {
	if ref.Kind != r.Kind {
		return false
	}
	namespace := cmp.Or(ref.Namespace, ref.Labels[api.LabelNamespace], home.Namespace)
	if namespace != "" && namespace != r.Namespace {
		return false
	}
	if ref.Name != "" {
		return ref.Name == r.Name || ref.Name == displayOf(&r.Labels)
	}
	return len(ref.Labels) > 0 && r.Labels.Carry(ref.Labels)
}
