package push

import (
	"time"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
)

// warming are the clusters, by name, that a client should have and has not confirmed yet; nil for none.
type warming map[string]unready

// unready is what is known of such a cluster.
type unready struct {
	cluster, endpoints bool          // confirmed
	until              time.Time     // when routes stop waiting for it; zero before one does
	checks             time.Duration // how long it checks its endpoints after that
}

// checking are the clusters, by name, that a client has confirmed and whose endpoints it may still check, and until
// when; nil for none. No client says when it is done.
type checking map[string]time.Time

// add notes that a cluster is confirmed, and checks its endpoints for a time from now on.
func (c *checking) add(name string, checks time.Duration) {
	if checks <= 0 {
		return
	}
	if *c == nil {
		*c = checking{}
	}
	(*c)[name] = time.Now().Add(checks)
}

// wait is until when r has to wait for a cluster that it names, zero for no longer.
func (c *checking) wait(r *resource.Resource) (until time.Time) {
	now := time.Now()
	for _, name := range r.Clusters {
		switch due, ok := (*c)[name]; {
		case !ok:
		case !now.Before(due):
			delete(*c, name)
		case until.Before(due):
			until = due
		}
	}
	return until
}

// track notes the clusters that the client has yet to confirm of now: it had before, and held on to others. A
// client that has nothing yet waits by itself until they have checked their endpoints.
func (w *warming) track(before, held, now *resource.State) {
	for name := range *w {
		if subscription.Find(now.Clusters, name) == nil {
			delete(*w, name)
		}
	}
	for _, c := range now.Clusters {
		if subscription.Find(before.Clusters, c.Name) != nil || subscription.Find(held.Clusters, c.Name) != nil {
			continue
		}
		if *w == nil {
			*w = warming{}
		}
		u := unready{endpoints: !c.EDS}
		if len(before.Clusters)+len(held.Clusters) > 0 {
			u.checks = c.Checks
		}
		(*w)[c.Name] = u
	}
}

// confirm takes note that the client has a cluster, or its endpoints. Checks is how long it checks those once it
// has both.
func (w *warming) confirm(t subscription.ResourceType, name string) (checks time.Duration) {
	u, ok := (*w)[name]
	if !ok || t > subscription.Endpoints {
		return 0
	}
	u.cluster = u.cluster || t == subscription.Clusters
	u.endpoints = u.endpoints || t == subscription.Endpoints
	if u.cluster && u.endpoints {
		delete(*w, name)
		if len(*w) == 0 {
			*w = nil
		}
		return u.checks
	}
	(*w)[name] = u
	return 0
}

// wait is until when r has to wait for a cluster that it names, zero for no longer. A cluster is waited for
// for as long as hold from the first time on; late is told of those that took longer.
func (w *warming) wait(r *resource.Resource, hold time.Duration, late func(cluster string)) (until time.Time) {
	now := time.Now()
	for _, name := range r.Clusters {
		u, ok := (*w)[name]
		if !ok {
			continue
		}
		if u.until.IsZero() {
			u.until = now.Add(hold)
			(*w)[name] = u
		}
		if now.Before(u.until) {
			until = u.until
		} else {
			late(name)
		}
	}
	return until
}
