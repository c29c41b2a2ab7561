package server

import (
	"slices"

	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// check notes when the client has confirmed everything.
func (st *stream) check() {
	if st.synced {
		return
	}
	for k := range st.flows {
		if f := &st.flows[k]; !f.quiet || f.asked && f.watch.wildcard && !f.acked {
			return
		}
	}
	if !st.complete() {
		return
	}
	st.synced, st.acked = true, st.revision
	if !st.failed {
		st.confirmed = st.resolved
	}
	st.tidy()
	st.pastRefusal()
	st.server.opts.Observer.Synced(st.peer, st.revision)
}

// tidy has what the client was told be the lists that it should have, where both are the same: of
// types in which nothing changed those of an earlier state would be kept.
func (st *stream) tidy() {
	for k := range st.flows {
		f := &st.flows[k]
		if want := f.kind.of(st.want); slices.EqualFunc(f.told.list, want, sameContent) {
			f.told.list = want
		}
	}
}

// complete reports whether the client has asked for everything that it will
// ask for. It needs all flows quiet.
func (st *stream) complete() bool {
	if !st.flows[listeners].asked {
		return false
	}
	if st.grpc {
		return true
	}
	if !st.flows[clusters].asked {
		return false
	}
	for _, l := range st.want.Listeners {
		for _, name := range l.Routes {
			if f := &st.flows[routes]; find(st.want.Routes, name) != nil && !(f.asked && f.watch.wants(name)) {
				return false
			}
		}
	}
	for _, s := range st.want.Secrets {
		if f := &st.flows[secrets]; !(f.asked && f.watch.wants(s.Name)) {
			return false
		}
	}
	for _, c := range st.want.Clusters {
		if f := &st.flows[endpoints]; c.EDS && !(f.asked && f.watch.wants(c.Name)) {
			return false
		}
	}
	return true
}

// status is how far the client is.
func (st *stream) status() syncstatus.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := st.progress()
	out.Types = map[string]syncstatus.TypeStatus{}
	for k := range st.flows {
		t := st.flows[k].total
		if st.want != nil {
			t.Resources = len(kind(k).of(st.want))
		}
		if kind(k) != secrets || t != (syncstatus.TypeStatus{}) { // few have any
			out.Types[names[k]] = t
		}
	}
	return out
}

// brief is status without its counts of types.
func (st *stream) brief() syncstatus.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.progress()
}

// progress is brief, and needs mu.
func (st *stream) progress() syncstatus.Status {
	now, _ := st.server.Revision()
	dirty := st.server.queue.has(st)
	out := syncstatus.Status{
		Dataplane: st.peer.Dataplane, Connected: true, Streams: 1, Since: st.since,
		Protocol: st.peer.Protocol, Client: st.peer.Client, Version: st.peer.Version, Agent: st.peer.Agent,
		Confirmed: st.confirmed, Published: now, Acked: st.acked, InSync: st.synced && !dirty && !st.failed,
		Nack: st.nack, Note: st.note, Unconfirmed: st.late(), Rest: st.rest, Lacks: st.lacks,
	}
	switch {
	case dirty, st.failed, st.want == nil:
		out.Published = st.revision
	case st.synced:
		out.Acked = now
	}
	return out
}
