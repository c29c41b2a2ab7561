package server

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/xds"
)

// prune takes away what the client should not have.
func (st *stream) prune() {
	if len(st.retained.Clusters) > 0 {
		st.retained = xds.State{}
		st.turn++
	}
	cds, eds := &st.flows[clusters], &st.flows[endpoints]
	st.removing = true
	st.serve(cds)
	st.serve(eds)
	st.removing = false
	if cds.quiet && eds.quiet {
		st.pruned = st.turn
	}
}

// mayRemove reports whether no route of the client names a cluster that it
// should not have. An Envoy that reconnects has routes before it asks for them.
func (st *stream) mayRemove() bool {
	if len(st.retained.Clusters) > 0 && time.Now().Before(st.drained) {
		st.wake(st.drained)
		return false
	}
	lds, rds := &st.flows[listeners], &st.flows[routes]
	return lds.quiet && rds.quiet && lds.asked && (rds.asked || len(st.want.Routes) == 0)
}

// releaseUnused forgets the retained clusters to which a gRPC client does not
// subscribe any more: it asks for what its routes name and for nothing else.
func (st *stream) releaseUnused() {
	cds := &st.flows[clusters]
	if len(st.retained.Clusters) == 0 || cds.open == nil {
		return
	}
	unused := func(r *xds.Resource) bool { return !cds.open.wants(r.Name) }
	st.turn++
	st.retained.Clusters = slices.DeleteFunc(st.retained.Clusters, unused)
	st.retained.Endpoints = slices.DeleteFunc(st.retained.Endpoints, unused)
}
