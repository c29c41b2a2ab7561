package server

import (
	"sync"
	"sync/atomic"

	"github.com/weftmesh/weft/xds/resource"
)

// routeTables are those that clients should have, as they were counted last.
type routeTables struct {
	changed        atomic.Uint64 // counts changes of what any client should have
	mu             sync.Mutex
	counted        uint64 // changes when they were
	held, distinct int
}

// count is how many there are, each counted for each stream, and how many these are. They are counted when
// something changed.
func (t *routeTables) count(streams func() []*stream) (held, distinct int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if changed := t.changed.Load(); changed != t.counted {
		t.held, t.distinct = countRouteTables(streams())
		t.counted = changed
	}
	return t.held, t.distinct
}

func countRouteTables(streams []*stream) (held, distinct int) {
	seen := map[*resource.Resource]bool{}
	for _, st := range streams {
		want := st.want()
		if want == nil {
			continue
		}
		held += len(want.Routes)
		for _, r := range want.Routes {
			seen[r] = true
		}
	}
	return held, len(seen)
}
