package traffic_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sidecar/traffic"
)

// TestLossesOfTaps: what Envoy wrote while a tap ran and never came is told at its end; what was missing before is
// not, nor what another Envoy wrote.
func TestLossesOfTaps(t *testing.T) {
	t.Parallel()
	var written, received uint64
	life := "one"
	from := &traffic.MeterSource{Life: func() any { return life }, Received: func() uint64 { return received },
		Get: func(context.Context, string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(fmt.Sprintf("access_logs.grpc_access_log.logs_written: %d\n", written))), nil
		}}
	var l traffic.Losses
	written, received = 100, 90 // before any tap
	l.Begin(t.Context(), from, "a")
	written, received = 200, 183
	l.Begin(t.Context(), from, "b")
	l.Begin(t.Context(), from, "a") // it is asked again, and goes on
	written, received = 300, 283
	if a, b := l.End(t.Context(), from, "a"), l.End(t.Context(), from, "b"); a != 7 || b != 0 {
		t.Errorf("%d and %d lines were lost, not 7 and none", a, b)
	}
	if again := l.End(t.Context(), from, "a"); again != 0 {
		t.Errorf("a tap that is over lost %d", again)
	}
	l.Begin(t.Context(), from, "c")
	if life, written = "two", 500; l.End(t.Context(), from, "c") != 0 {
		t.Error("lines of another Envoy are taken for lost ones")
	}
}
