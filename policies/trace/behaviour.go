package trace

import (
	"fmt"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/weftmesh/weft/sim"
)

// Observed is how many requests are traced: of all, as far as sampling lets each of its fields.
func (c *Conf) Observed() []sim.Observation {
	if c.tracer() == nil {
		return nil
	}
	s := c.Sampling
	if s == nil {
		s = new(Sampling)
	}
	share := part(fraction(s.Overall)) * part(fraction(s.Random))
	field := "sampling.random"
	if s.Random == nil {
		field = "backends"
	}
	return []sim.Observation{{What: fmt.Sprintf("sampled %.4g%%", share*100), Share: share, Traces: true, Field: field}}
}

// part is a percentage as a part of one.
func part(f *typev3.FractionalPercent) float64 {
	whole := 100.0
	switch f.Denominator {
	case typev3.FractionalPercent_TEN_THOUSAND:
		whole = 10_000
	case typev3.FractionalPercent_MILLION:
		whole = 1_000_000
	}
	return float64(f.Numerator) / whole
}
