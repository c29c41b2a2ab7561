package accesslog

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// CollectorRefs yields the refs to collectors.
func (c *Conf) CollectorRefs(yield func(at api.Path, ref *policies.CollectorRef) bool) {
	for i := range c.Backends {
		if o := c.Backends[i].OpenTelemetry; o != nil && o.BackendRef != nil {
			if !yield(api.Path("backends").Index(i).Field("openTelemetry").Field("backendRef"), o.BackendRef) {
				return
			}
		}
	}
}

// CopyCollectorRefs is the conf with refs of its own.
func (c *Conf) CopyCollectorRefs() policies.Conf {
	out := *c
	out.Backends = slices.Clone(c.Backends)
	for i := range out.Backends {
		if o := out.Backends[i].OpenTelemetry; o != nil && o.BackendRef != nil {
			own, ref := *o, *o.BackendRef
			own.BackendRef = &ref
			out.Backends[i].OpenTelemetry = &own
		}
	}
	return &out
}
