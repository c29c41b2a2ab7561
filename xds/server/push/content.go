package push

import (
	"slices"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
)

// content is what a client should have, and what it may have all the same.
type content struct {
	want     *resource.State // nil while the dataplane is unknown
	revision uint64          // of want
	// retained are clusters, and their endpoints, that want no longer has but
	// that the client's routes may still name.
	retained resource.State
	// turn counts the changes of what the client may have; at pruned it had nothing
	// that it should not have.
	turn, pruned uint64
	looked       int // resources that were looked at for responses
}

// find is the resource of that name that the client may have.
func (c *content) find(t subscription.ResourceType, name string) *resource.Resource {
	if c.want == nil {
		return nil
	}
	if r := subscription.Find(t.Of(c.want), name); r != nil {
		return r
	}
	return subscription.Find(t.Of(&c.retained), name)
}

// each yields what the client may have of one type.
func (c *content) each(t subscription.ResourceType, yield func(*resource.Resource) bool) {
	for _, r := range t.Of(c.want) {
		c.looked++
		if !yield(r) {
			return
		}
	}
	for _, r := range t.Of(&c.retained) {
		c.looked++
		if !yield(r) {
			return
		}
	}
}

// retain keeps the clusters that now lacks for as long as routes may name them, but for those that
// the client never confirmed.
func (c *content) retain(before, now *resource.State, unconfirmed warming) {
	kept := resource.State{}
	keep := func(s *resource.State) {
		for _, r := range s.Clusters {
			if _, open := unconfirmed[r.Name]; open || subscription.Find(now.Clusters, r.Name) != nil || subscription.Find(kept.Clusters, r.Name) != nil {
				continue
			}
			kept.Clusters = append(kept.Clusters, r)
			if e := subscription.Find(s.Endpoints, r.Name); e != nil {
				kept.Endpoints = append(kept.Endpoints, e)
			}
		}
		subscription.Sort(kept.Clusters)
		subscription.Sort(kept.Endpoints)
	}
	keep(before)
	keep(&c.retained)
	c.retained = kept
}

// retains reports whether there are clusters that only routes of before may name.
func (c *content) retains() bool { return len(c.retained.Clusters) > 0 }

// drop forgets all that is retained.
func (c *content) drop() {
	if c.retains() {
		c.retained = resource.State{}
		c.turn++
	}
}

// release forgets the retained clusters to which a gRPC client does not
// subscribe any more: it asks for what its routes name and for nothing else.
func (c *content) release(cds *subscription.Subscription) {
	if !c.retains() || !cds.Open() {
		return
	}
	unused := func(r *resource.Resource) bool { return !cds.Wants(r.Name) }
	c.turn++
	c.retained.Clusters = slices.DeleteFunc(c.retained.Clusters, unused)
	c.retained.Endpoints = slices.DeleteFunc(c.retained.Endpoints, unused)
}

// lost reports whether a name of before is missing from now.
func lost(before, now []*resource.Resource) bool {
	return slices.ContainsFunc(before, func(r *resource.Resource) bool { return subscription.Find(now, r.Name) == nil })
}

// leadElsewhere reports whether a listener of before went or names something else
// now. Unlike routes, which all connections see at once, a listener lives on for
// the connections that it has accepted.
func leadElsewhere(before, now []*resource.Resource) bool {
	return slices.ContainsFunc(before, func(l *resource.Resource) bool {
		n := subscription.Find(now, l.Name)
		return n == nil || n != l && !(slices.Equal(l.Clusters, n.Clusters) && slices.Equal(l.Routes, n.Routes))
	})
}
