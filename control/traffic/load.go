package traffic

import (
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
)

// The part of one core that taking reports may need, and the one below which sidecars report as often as
// before.
const (
	mostLoad  = 0.05
	leastLoad = 0.01
)

// Often is how often sidecars report by themselves; seldom at the least.
const (
	Often  = attach.ReportEverySeconds * time.Second
	seldom = 40 * time.Second
)

// load measures what taking reports costs, and says how often sidecars are to report.
type load struct {
	often time.Duration // where it costs little
	every time.Duration
	since time.Time
	spent time.Duration
}

// took notes that a report was taken, and reports whether the interval is another from now on.
func (l *load) took(now time.Time, cost time.Duration) (changed bool) {
	if l.every == 0 {
		l.every, l.since = l.often, now
	}
	l.spent += cost
	passed := now.Sub(l.since)
	if passed < l.every {
		return false
	}
	before, part := l.every, l.spent.Seconds()/passed.Seconds()
	switch {
	case part > mostLoad:
		l.every = min(2*l.every, seldom)
	case part < leastLoad:
		l.every = max(l.every/2, l.often)
	}
	l.since, l.spent = now, 0
	return l.every != before
}
