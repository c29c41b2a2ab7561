package retry

import (
	"time"

	"github.com/weftmesh/weft/policies"
)

// Adjustments are what merging can bring together although Envoy refuses it
// (spec/xds.md 6).
func (c *Conf) Adjustments() []policies.Adjustment {
	var list []policies.Adjustment
	if c.HTTP != nil {
		list = append(list, c.HTTP.shared().adjustments("http")...)
	}
	if c.GRPC != nil {
		list = append(list, c.GRPC.shared().adjustments("grpc")...)
	}
	return list
}

func (s shared) adjustments(block string) []policies.Adjustment {
	var list []policies.Adjustment
	if base, longest := s.interval(); s.max != nil && time.Duration(*s.max) < base {
		list = append(list, policies.Adjustment{
			Field: block + ".backOff.maxInterval", Against: block + ".backOff.baseInterval",
			Message: "maxInterval is shorter than baseInterval, so " + longest.String() + " holds for both; make maxInterval at least as long",
		})
	}
	if s.rateLimitedMax != nil && len(s.reset) == 0 {
		list = append(list, policies.Adjustment{
			Field:   block + ".rateLimitedBackOff.maxInterval",
			Message: "rateLimitedBackOff has no resetHeaders and does nothing; name the headers",
		})
	}
	return list
}
