package accesslog

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// CollectorRefs yields the refs to collectors.
func (c *Conf) CollectorRefs(yield func(at api.Path, ref *policies.CollectorRef) bool) {
	policies.CollectorRefsOf(c.Backends, (*Backend).collectorRef, yield)
}

// CopyCollectorRefs is the conf with refs of its own.
func (c *Conf) CopyCollectorRefs() policies.Conf {
	out := *c
	out.Backends = policies.CopyCollectorRefsOf(c.Backends, (*Backend).collectorRef, func(b *Backend, ref *policies.CollectorRef) {
		own := *b.OpenTelemetry
		own.BackendRef, b.OpenTelemetry = ref, &own
	})
	return &out
}

// collectorRef is the ref of a backend to a collector; nil where it has none.
func (b *Backend) collectorRef() *policies.CollectorRef {
	if b.OpenTelemetry == nil {
		return nil
	}
	return b.OpenTelemetry.BackendRef
}
