package server

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftmesh/weft/xds/resource"
)

// A publication reaches a client in three phases, or requests are lost between
// them: new and changed clusters with their endpoints; then routes and
// listeners, each as soon as the clusters that it names are confirmed; then the
// removal of routes that no listener names any more, not even one that still
// drains, and after it that of clusters. Every phase is only a condition on what a
// response may hold now, asked again whenever something changed: there is no state
// of a phase that could get stuck.

// unconfirmed is what is known of a cluster that the client has not confirmed.
type unconfirmed struct {
	cluster, endpoints bool      // confirmed
	until              time.Time // when routes stop waiting for it; zero before one does
}

// find looks a name up in a sorted list.
func find(list []*resource.Resource, name string) *resource.Resource {
	i, ok := slices.BinarySearchFunc(list, name, func(r *resource.Resource, name string) int { return cmp.Compare(r.Name, name) })
	if !ok {
		return nil
	}
	return list[i]
}

// desired is the resource of that name that the client may have.
func (st *stream) desired(k kind, name string) *resource.Resource {
	if st.want == nil {
		return nil
	}
	if r := find(k.of(st.want), name); r != nil {
		return r
	}
	return find(k.of(&st.retained), name)
}

// all yields what the client may have of one kind.
func (st *stream) all(k kind, yield func(*resource.Resource) bool) {
	for _, r := range k.of(st.want) {
		st.looked++
		if !yield(r) {
			return
		}
	}
	for _, r := range k.of(&st.retained) {
		st.looked++
		if !yield(r) {
			return
		}
	}
}

// replace makes now what the client should have.
func (st *stream) replace(now *resource.State, revision uint64) {
	before := st.want
	if before == nil {
		before = &resource.State{}
	}
	was, pruned := st.turn, st.turn > 0 && len(st.retained.Clusters) == 0
	st.turn++
	for k := range st.flows {
		f := &st.flows[k]
		list := f.kind.of(now)
		if slices.Equal(list, f.kind.of(before)) {
			if was > 0 && f.covers == was && len(st.retained.Clusters) == 0 {
				f.covers = st.turn
			}
			continue
		}
		pruned = pruned && f.kind > endpoints && !(f.kind == routes && lost(before.Routes, list))
		f.limit, f.resendAt = 0, time.Time{}
		f.forget(list)
	}
	held := st.retained
	st.retain(before, now)
	if !slices.Equal(before.Listeners, now.Listeners) && leadElsewhere(before.Listeners, now.Listeners) {
		st.drained = time.Now().Add(st.server.opts.Drain)
	}
	if !st.grpc {
		st.trackUnconfirmed(before, &held, now)
	}
	st.want, st.revision, st.synced = now, revision, false
	st.rest, st.lacks = nil, nil
	st.server.tables.changed.Add(1)
	if pruned && st.pruned == was {
		st.pruned = st.turn
	}
	st.pastRefusal()
}

// lost reports whether a name of before is missing from now.
func lost(before, now []*resource.Resource) bool {
	return slices.ContainsFunc(before, func(r *resource.Resource) bool { return find(now, r.Name) == nil })
}

// leadElsewhere reports whether a listener of before went or names something else
// now. Unlike routes, which all connections see at once, a listener lives on for
// the connections that it has accepted.
func leadElsewhere(before, now []*resource.Resource) bool {
	return slices.ContainsFunc(before, func(l *resource.Resource) bool {
		n := find(now, l.Name)
		return n == nil || n != l && !(slices.Equal(l.Clusters, n.Clusters) && slices.Equal(l.Routes, n.Routes))
	})
}

// retain keeps the clusters that now lacks for as long as routes may name them.
func (st *stream) retain(before, now *resource.State) {
	kept := resource.State{}
	keep := func(s *resource.State) {
		for _, c := range s.Clusters {
			if _, open := st.unconfirmed[c.Name]; open || find(now.Clusters, c.Name) != nil || find(kept.Clusters, c.Name) != nil {
				continue
			}
			kept.Clusters = append(kept.Clusters, c)
			if e := find(s.Endpoints, c.Name); e != nil {
				kept.Endpoints = append(kept.Endpoints, e)
			}
		}
		sortByName(kept.Clusters)
		sortByName(kept.Endpoints)
	}
	keep(before)
	keep(&st.retained)
	st.retained = kept
}

func sortByName(list []*resource.Resource) {
	slices.SortFunc(list, func(a, b *resource.Resource) int { return cmp.Compare(a.Name, b.Name) })
}

// trackUnconfirmed notes the clusters that the client has yet to confirm.
func (st *stream) trackUnconfirmed(before, held, now *resource.State) {
	for name := range st.unconfirmed {
		if find(now.Clusters, name) == nil {
			delete(st.unconfirmed, name)
		}
	}
	for _, c := range now.Clusters {
		if find(before.Clusters, c.Name) != nil || find(held.Clusters, c.Name) != nil {
			continue
		}
		if st.unconfirmed == nil {
			st.unconfirmed = map[string]unconfirmed{}
		}
		st.unconfirmed[c.Name] = unconfirmed{endpoints: !c.EDS}
	}
}

// noteConfirmed takes note that the client confirmed list.
func (st *stream) noteConfirmed(k kind, list []versioned) {
	if len(st.unconfirmed) == 0 || k > endpoints {
		return
	}
	for _, v := range list {
		st.confirmOne(k, v.Name)
	}
}

func (st *stream) confirmOne(k kind, name string) {
	u, ok := st.unconfirmed[name]
	if !ok {
		return
	}
	u.cluster = u.cluster || k == clusters
	u.endpoints = u.endpoints || k == endpoints
	if u.cluster && u.endpoints {
		delete(st.unconfirmed, name)
		if len(st.unconfirmed) == 0 {
			st.unconfirmed = nil
		}
		return
	}
	st.unconfirmed[name] = u
}

// confirmKnown confirms what a client brought along from an earlier stream.
func (st *stream) confirmKnown(f *flow) {
	if f.sent || f.kind > endpoints || st.want == nil {
		return
	}
	for name, version := range f.told.all() {
		if r := st.desired(f.kind, name); r != nil && f.as(r).version == version {
			st.confirmOne(f.kind, name)
		}
	}
}

// holds reports whether r has to wait for a cluster that it names.
func (st *stream) holds(k kind, r *resource.Resource) bool {
	if st.grpc || k < listeners || len(st.unconfirmed) == 0 {
		return false
	}
	now := time.Now()
	var wait time.Time
	for _, name := range r.Clusters {
		u, ok := st.unconfirmed[name]
		if !ok {
			continue
		}
		if u.until.IsZero() {
			u.until = now.Add(st.server.opts.HoldRoutes)
			st.unconfirmed[name] = u
		}
		if now.Before(u.until) {
			wait = u.until
		} else {
			st.note = "cluster " + name + " was not confirmed in time; " + r.Name + " names it all the same"
			st.server.opts.Observer.Stirred(st.peer.Dataplane)
		}
	}
	if !wait.IsZero() {
		st.wake(wait)
	}
	return !wait.IsZero()
}

// pump queues whatever may be sent now.
func (st *stream) pump() {
	if st.want == nil || st.closed || st.suspended {
		return
	}
	st.due = time.Time{}
	for k := range st.flows {
		st.serve(&st.flows[k])
	}
	if st.grpc {
		st.releaseUnused()
	} else if st.pruned != st.turn && st.mayRemove() {
		st.prune()
	}
	st.check()
	st.checkRest()
	st.awaitAnswers()
	st.arm()
}

// arm has the stream pumped again when that is due.
func (st *stream) arm() {
	if st.timer != nil {
		st.timer.Stop()
		st.timer = nil
	}
	if !st.due.IsZero() {
		st.timer = time.AfterFunc(time.Until(st.due), func() { st.server.queue.add(st) })
	}
}

// wake has the stream pumped again at a time, if not earlier.
func (st *stream) wake(at time.Time) {
	if st.due.IsZero() || at.Before(st.due) {
		st.due = at
	}
}

// serve queues a response of one type if there is something to say.
func (st *stream) serve(f *flow) {
	f.quiet = !f.asked
	if !f.open || f.queued != nil || f.out != nil {
		return // one response at a time: the answer to it will open the next request
	}
	if f.covers == st.turn && !st.removing {
		f.quiet, f.owed = true, false
		return
	}
	r, held := st.compose(f)
	f.owed = held || r != nil
	if r == nil {
		f.quiet = !held && len(f.refused) == 0
		f.resendAt = time.Time{}
		if !held {
			f.limit = 0
		}
		f.cover(st.turn, f.quiet)
		return
	}
	if time.Now().Before(f.resendAt) {
		st.wake(f.resendAt)
		return
	}
	if !f.resendAt.IsZero() {
		f.resent, f.resendAt = time.Now(), time.Time{}
	}
	f.cover(st.turn, !held && !r.part && f.limit == 0 && len(f.refused) == 0)
	f.queued = r
	if f.watch.full != nil {
		f.watch.full.out <- r
	} else {
		st.deltaOut <- r
	}
	f.open = false
}
