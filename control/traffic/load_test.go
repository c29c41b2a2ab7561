package traffic

import (
	"testing"
	"time"
)

// TestSidecarsReportLessOftenUnderLoad is that the interval doubles where taking reports costs too much of a
// core, to a bound, and goes back where it costs little.
func TestSidecarsReportLessOftenUnderLoad(t *testing.T) {
	l, now := load{often: Often}, time.Unix(0, 0)
	step := func(cost time.Duration, want time.Duration, changes bool) {
		t.Helper()
		now = now.Add(l.every)
		if changed := l.took(now, cost); changed != changes || l.every != want {
			t.Errorf("changed %v, every %v; want %v", changed, l.every, want)
		}
	}
	l.took(now, 0)
	step(time.Second, 20*time.Second, true)
	step(2*time.Second, 40*time.Second, true)
	step(time.Minute, 40*time.Second, false)
	step(time.Second, 40*time.Second, false)
	step(time.Millisecond, 20*time.Second, true)
	step(time.Millisecond, 10*time.Second, true)
	step(time.Millisecond, 10*time.Second, false)
}
