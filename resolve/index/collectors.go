package index

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Collector is the MeshOpenTelemetryBackend that a ref means: of several the oldest, then the first
// by name; nil for none.
func (m Mesh) Collector(ref *policies.CollectorRef) *api.Object {
	var found *api.Object
	for o := range m.Objects(api.KindMeshOpenTelemetryBackend, ref.Labels) {
		if ref.Name != "" && o.Name != ref.Name && o.DisplayName() != ref.Name {
			continue
		}
		if found == nil || cmp.Or(o.Created.Compare(found.Created), cmp.Compare(o.DisplayName(), found.DisplayName()), o.Ref.Compare(found.Ref)) < 0 {
			found = o
		}
	}
	return found
}

// reached is what the ref leads to, as far as Envoy can send there by itself.
func (m Mesh) reached(ref *policies.CollectorRef) *policies.Collector {
	o := m.Collector(ref)
	if o == nil {
		return nil
	}
	spec, ok := o.Spec.(*api.MeshOpenTelemetryBackend)
	if !ok || spec.Unreached() != "" {
		return nil
	}
	address, port := spec.Address()
	return &policies.Collector{Address: address, Port: port}
}

// CollectorText is a ref to a collector in words.
func CollectorText(ref *policies.CollectorRef) string {
	if ref.Name != "" {
		return ref.Kind + " " + ref.Name
	}
	return ref.Kind + " with labels " + LabelText(ref.Labels)
}

// NamingCollector are the policies of the mesh of which a ref leads to the backend, sorted.
func (m Mesh) NamingCollector(backend api.Ref) []api.Ref {
	found := map[api.Ref]bool{}
	for _, k := range m.Kinds {
		if !k.NamesCollectors() {
			continue
		}
		for p := range m.PoliciesByKind.Values(m.At, k.Name) {
			for _, ref := range p.Object.Spec.(*policies.Spec).CollectorRefs {
				if o := m.Collector(ref); o != nil && o.Ref == backend {
					found[p.Object.Ref] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), api.Ref.Compare)
}
