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
	cluster, endpoints bool      // confirmed
	until              time.Time // when routes stop waiting for it; zero before one does
}

// track notes the clusters that the client has yet to confirm of now: it had before, and held on to others.
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
		(*w)[c.Name] = unready{endpoints: !c.EDS}
	}
}

// confirm takes note that the client has a cluster, or its endpoints.
func (w *warming) confirm(t subscription.ResourceType, name string) {
	u, ok := (*w)[name]
	if !ok || t > subscription.Endpoints {
		return
	}
	u.cluster = u.cluster || t == subscription.Clusters
	u.endpoints = u.endpoints || t == subscription.Endpoints
	if u.cluster && u.endpoints {
		delete(*w, name)
		if len(*w) == 0 {
			*w = nil
		}
		return
	}
	(*w)[name] = u
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
