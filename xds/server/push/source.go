package push

import (
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
)

// source is what a client may have, as subscriptions ask for it.
type source struct{ *Stream }

// Each yields what it may have of a type.
func (s source) Each(t subscription.ResourceType, yield func(*resource.Resource) bool) {
	s.each(t, yield)
}

// Waits reports whether r has to wait for a cluster that it names.
func (s source) Waits(t subscription.ResourceType, r *resource.Resource) bool {
	if s.grpc || t < subscription.Listeners || len(s.warming)+len(s.checking) == 0 {
		return false
	}
	until := s.warming.wait(r, s.opts.HoldRoutes, func(cluster string) {
		s.note = "cluster " + cluster + " was not confirmed in time; " + r.Name + " names it all the same"
		s.opts.Observer.SidecarChanged(s.peer.Dataplane)
	})
	if due := s.checking.wait(r); due.After(until) {
		until = due
	}
	if !until.IsZero() {
		s.alarm.set(until)
	}
	return !until.IsZero()
}

// Keeps reports whether the client goes on with a secret of an earlier stream.
func (s source) Keeps(t subscription.ResourceType, name string) bool {
	return keepsSecret(s.resolved, t, name)
}
