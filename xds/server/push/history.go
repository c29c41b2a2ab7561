package push

import (
	"time"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/nack"
)

// DataplaneRecord is what outlives the streams of a dataplane. Its streams share what is known of refusals; Keep and
// Stream.Resume are for one goroutine at a time.
type DataplaneRecord struct {
	drains     drains // of the last stream
	unverified nack.Unverified
	refusals   nack.RefusalLog
}

// drains is what a listener may still need that drains, and until when.
type drains struct {
	retained resource.State
	until    time.Time
}

// Keep takes note of what the next stream goes on with. It needs the lock of s.
func (h *DataplaneRecord) Keep(s *Stream) {
	h.drains = drains{}
	if !s.grpc && time.Now().Before(s.drained) {
		h.drains = drains{s.retained, s.drained}
	}
}
