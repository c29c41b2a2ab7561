//go:build long

package control_test

import (
	"flag"
	"testing"
	"time"
)

var away = flag.Duration("away", 10*time.Minute, "how long the API server is away")

// TestLongOutage is row 55 of spec/kubernetes.md 8: after ten minutes without the API server
// everything is caught up within 10 s.
func TestLongOutage(t *testing.T) {
	took := outage(t, *away)
	if took > 10*time.Second {
		t.Errorf("a change arrived %v after the API server was back", took)
	}
	t.Logf("a change arrived %v after the API server was back", took)
}
