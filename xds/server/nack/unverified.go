package nack

import (
	"sync"

	"github.com/weftmesh/weft/xds/server/subscription"
)

// Unverified are the resources of a dataplane of which nobody knows whether its
// client has them: they stood in a refused response, and no later answer
// cleared them up. They outlive the stream, because a client that reconnects
// reports the versions of before the refusal.
type Unverified struct {
	mu    sync.Mutex
	names [subscription.Types]map[string]bool
}

// Add takes note of a refused response.
func (d *Unverified) Add(r *subscription.Response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[r.Type] == nil {
		d.names[r.Type] = map[string]bool{}
	}
	for _, v := range r.Changed {
		d.names[r.Type][v.Name] = true
	}
	for _, name := range r.Removed {
		d.names[r.Type][name] = true
	}
}

// Clear forgets what a confirmed response settled.
func (d *Unverified) Clear(r *subscription.Response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.names[r.Type]) == 0 {
		return
	}
	for name := range r.Names() {
		delete(d.names[r.Type], name)
	}
}

// Apply has a new stream send again, or remove, what is unverified.
func (d *Unverified) Apply(s *subscription.Subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Doubt(d.names[s.Type()])
}
