package agent

import (
	"testing"
	"time"
)

// TestDrainingEnds: after its time at the latest, and where nothing is under way as soon as those who
// call have had the time to hear of it.
func TestDrainingEnds(t *testing.T) {
	t.Parallel()
	const most, least = 30 * time.Second, 5 * time.Second
	for _, c := range []struct {
		took       time.Duration
		idle, ends bool
	}{
		{0, true, false}, {least - 1, true, false}, {least, true, true}, {least, false, false},
		{most - 1, true, true}, {most - 1, false, false}, {most, false, true}, {2 * most, true, true},
	} {
		if got := drained(c.took, most, least, func() bool { return c.idle }); got != c.ends {
			t.Errorf("after %s, idle %v: ends %v", c.took, c.idle, got)
		}
	}
}
