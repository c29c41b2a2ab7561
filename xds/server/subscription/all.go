package subscription

import (
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// All are the subscriptions of one stream, by type.
type All [Types]Subscription

// New are those of a stream that has asked for nothing yet.
func New() (all All) {
	for t := range all {
		all[t].typ = ResourceType(t)
	}
	return all
}

// Close has nothing sent any more.
func (a *All) Close() {
	for t := range a {
		a[t].open = false
	}
}

// Refuse reports whether the client refuses something that it should have.
func (a *All) Refuse() bool { return a.any(func(s *Subscription) bool { return s.refuses() }) }

// Settled reports whether the client has all that it may have, and has said so.
func (a *All) Settled() bool { return !a.any(func(s *Subscription) bool { return !s.settled() }) }

// Resting reports whether nothing is on its way to the client, and nothing will be before something changes.
func (a *All) Resting() bool { return !a.any(func(s *Subscription) bool { return !s.resting() }) }

// Idle reports whether neither side owes the other an answer.
func (a *All) Idle() bool { return !a.any(func(s *Subscription) bool { return !s.idle() }) }

func (a *All) any(is func(*Subscription) bool) bool {
	for t := range a {
		if is(&a[t]) {
			return true
		}
	}
	return false
}

// Tidy has what the client has be the lists that it should have, where both are the same: of types in which
// nothing changed those of an earlier state would be kept.
func (a *All) Tidy(want *resource.State) {
	for t := range a {
		a[t].tidy(ResourceType(t).Of(want))
	}
}

// Sent are the resources that the client should have, of each type of which anything was sent.
func (a *All) Sent(want *resource.State) *resource.State {
	out := &resource.State{}
	for t, into := range [Types]*[]*resource.Resource{&out.Clusters, &out.Endpoints, &out.Secrets, &out.Listeners, &out.Routes} {
		if a[t].sent {
			*into = ResourceType(t).Of(want)
		}
	}
	return out
}

// Totals counts the responses of each type, by short name, and what the client should have of it; want is nil where
// that is not known.
func (a *All) Totals(want *resource.State) map[string]syncstatus.TypeStatus {
	out := map[string]syncstatus.TypeStatus{}
	for t := range a {
		n := a[t].total
		if want != nil {
			n.Resources = len(ResourceType(t).Of(want))
		}
		if ResourceType(t) != Secrets || n != (syncstatus.TypeStatus{}) { // few have any
			out[ResourceType(t).String()] = n
		}
	}
	return out
}
