package timeout

import (
	"time"

	"github.com/weftmesh/weft/sim/timeline"
)

// Timeouts are the bounds of one request; 0s and unset both mean none.
func (c *Conf) Timeouts() timeline.Timeouts {
	var t timeline.Timeouts
	if c.HTTP == nil {
		return t
	}
	if d := c.HTTP.RequestTimeout; d != nil {
		t.Request = time.Duration(*d)
	}
	if d := c.HTTP.StreamIdleTimeout; d != nil {
		t.StreamIdle = time.Duration(*d)
	}
	if d := c.HTTP.MaxStreamDuration; d != nil {
		t.Stream = time.Duration(*d)
	}
	return t
}
