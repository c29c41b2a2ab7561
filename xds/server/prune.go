package server

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/xds/resource"
)

// prune takes away what the client should not have: routes, then the clusters that
// they may have named, then the endpoints of those.
func (st *stream) prune() {
	if len(st.retained.Clusters) > 0 {
		st.retained = resource.State{}
		st.turn++
	}
	cds, eds, rds := &st.flows[clusters], &st.flows[endpoints], &st.flows[routes]
	st.removing = true
	if st.serve(rds); rds.quiet {
		st.serve(cds)
		st.serve(eds)
	}
	st.removing = false
	if cds.quiet && eds.quiet && rds.quiet {
		st.pruned = st.turn
	}
}

// mayRemove reports whether no listener or route of the client names what it
// should not have. An Envoy that reconnects has routes before it asks for them.
func (st *stream) mayRemove() bool {
	if time.Now().Before(st.drained) {
		st.wake(st.drained)
		return false
	}
	lds, rds := &st.flows[listeners], &st.flows[routes]
	return lds.quiet && rds.quiet && lds.asked && (rds.asked || len(st.want.Routes) == 0)
}

// drains is what a listener may still need that drains, and until when.
type drains struct {
	retained resource.State
	until    time.Time
}

// drains is what the next stream of the client goes on with.
func (st *stream) drains() drains {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.grpc || !time.Now().Before(st.drained) {
		return drains{}
	}
	return drains{st.retained, st.drained}
}

// takeOver goes on with what an earlier stream of the client had.
func (st *stream) takeOver(d drains) {
	if !st.grpc {
		st.retained, st.drained = d.retained, d.until
	}
}

// bring takes note of what the client has of a type from an earlier stream. Which
// of its listeners drain only that stream knew, so whatever the client should not
// have stays for the drain time.
func (st *stream) bring(f *flow, w watch) {
	f.told = st.brings[f.kind]
	delete(st.brings, f.kind)
	if f.told.len() > 0 || !w.isDelta() && w.full.GetVersionInfo() != "" {
		st.brought, st.drained = true, time.Now().Add(st.server.opts.Drain)
	}
}

// releaseUnused forgets the retained clusters to which a gRPC client does not
// subscribe any more: it asks for what its routes name and for nothing else.
func (st *stream) releaseUnused() {
	cds := &st.flows[clusters]
	if len(st.retained.Clusters) == 0 || !cds.open {
		return
	}
	unused := func(r *resource.Resource) bool { return !cds.watch.wants(r.Name) }
	st.turn++
	st.retained.Clusters = slices.DeleteFunc(st.retained.Clusters, unused)
	st.retained.Endpoints = slices.DeleteFunc(st.retained.Endpoints, unused)
}
