package traffic

import (
	"time"

	"github.com/weftmesh/weft/inspect/traffic"
)

// CountForTest adds what a sidecar of a service told.
func (c *TrafficCollector) CountForTest(from, to traffic.Service, of traffic.Counted) {
	c.totals.Report(time.Now(), from, map[traffic.Service][]traffic.Counted{to: {of}}, nil)
}
