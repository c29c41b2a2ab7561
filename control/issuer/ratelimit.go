package issuer

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
)

// rateLimiter bound how often one dataplane has something signed. Each that had something lately costs a
// few bytes: the hash of its name, by a seed that nobody outside knows, and until when what it had
// counts. Two with one hash would share a bound.
type rateLimiter struct {
	mu    sync.Mutex
	seed  maphash.Seed
	began time.Time                // what durations count from
	until map[uint64]time.Duration // one certificate is forgotten every certifyEvery before it
	sweep int
}

// A dataplane may have a few certificates at once, and then one in ten seconds.
const (
	certifyBurst = 6
	certifyEvery = 10 * time.Second
)

func (c *rateLimiter) allow(dp api.Ref) bool { return c.allowAt(dp, time.Now()) }

func (c *rateLimiter) allowAt(dp api.Ref, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.seed, c.began, c.until, c.sweep = maphash.MakeSeed(), at, map[uint64]time.Duration{}, 1024
	}
	now := at.Sub(c.began)
	if len(c.until) >= c.sweep {
		c.forget(now)
	}
	key := maphash.Comparable(c.seed, dp)
	until := max(c.until[key], now) + certifyEvery
	if until > now+certifyBurst*certifyEvery {
		return false
	}
	c.until[key] = until
	return true
}

// expire forgets who has nothing to wait for any more. In rest nothing is kept.
func (c *rateLimiter) expire(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forget(at.Sub(c.began)); len(c.until) == 0 {
		c.until = nil
	}
}

// forget is expire, but for a map that is empty. It needs mu.
func (c *rateLimiter) forget(now time.Duration) {
	before := c.until
	c.until = map[uint64]time.Duration{} // a map keeps the room of what is deleted
	for key, until := range before {
		if until > now {
			c.until[key] = until
		}
	}
	c.sweep = max(1024, 2*len(c.until))
}
