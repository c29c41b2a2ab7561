// Package traffic sums what sidecars counted of requests, and answers how many there were, how they
// ended and how long they took, by service, caller, route and rule (spec/telemetry.md 3).
//
// It promises that what it keeps is bounded whatever sidecars tell, that what one caller sends to
// one destination is never dropped for details of others, and that what nobody reported is told
// apart from what did not happen. It knows no clock: whoever calls says what time it is.
package traffic

import "math"

// Bounds are those of the classes of durations, in milliseconds; the last class has none.
var Bounds = [7]uint32{5, 10, 25, 50, 100, 250, 1000}

// Counts are requests of some time. All stay at their largest value rather than begin again.
type Counts struct {
	Completed uint32 // that ended
	Failed    uint32 // of them: answered with 5xx
	Denied    uint32 // of them: answered with 401, 403 or 429
	Retried   uint32 // attempts that were repeated
	Durations [len(Bounds) + 1]uint32
}

// Add adds o.
func (c *Counts) Add(o *Counts) {
	c.Completed, c.Failed = sum(c.Completed, o.Completed), sum(c.Failed, o.Failed)
	c.Denied, c.Retried = sum(c.Denied, o.Denied), sum(c.Retried, o.Retried)
	for i := range c.Durations {
		c.Durations[i] = sum(c.Durations[i], o.Durations[i])
	}
}

func sum(a, b uint32) uint32 {
	if a > math.MaxUint32-b {
		return math.MaxUint32
	}
	return a + b
}

// RequestCause is why requests ended as they did where no answer of who was called says so.
type RequestCause struct {
	Flags   string `json:"flags,omitempty"` // of Envoy's access logs, as UO
	Details string `json:"details,omitempty"`
	Status  uint32 `json:"status"`
}
