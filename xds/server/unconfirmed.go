package server

import (
	"time"

	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// mostResolving bounds the clusters that are named of those that a client may wait for.
const mostResolving = 10

// awaitAnswers has the stream looked at again when the client has taken too long, so that whoever
// follows its status is told.
func (st *stream) awaitAnswers() {
	for k := range st.flows {
		if f := &st.flows[k]; f.out != nil {
			st.wakeSlow(f.out.at)
		}
	}
	if st.starting() {
		st.wakeSlow(st.took)
	}
}

// wakeSlow has the stream pumped again when what began at a time takes too long.
func (st *stream) wakeSlow(began time.Time) {
	if at := began.Add(st.server.opts.Slow); time.Now().Before(at) && !st.closed {
		st.wake(at)
	}
}

// starting reports whether the client has confirmed its first clusters and not asked for listeners: an Envoy
// does that when all its clusters are ready.
func (st *stream) starting() bool {
	return !st.grpc && st.want != nil && !st.took.IsZero() && !st.flows[listeners].asked
}

// slow reports whether what began at a time takes too long by now.
func (st *stream) slow(began time.Time) bool { return time.Since(began) >= st.server.opts.Slow }

// late is what the client takes too long for.
func (st *stream) late() (out []syncstatus.Unconfirmed) {
	for k := range st.flows {
		r := st.flows[k].out
		if r == nil || !st.slow(r.at) {
			continue
		}
		u := syncstatus.Unconfirmed{Type: names[k], Asked: true, Since: r.at}
		for _, v := range r.changed {
			resolving(&u, v.Resolves, v.Name)
		}
		out = append(out, u)
	}
	if st.starting() && st.slow(st.took) {
		u := syncstatus.Unconfirmed{Type: names[listeners], Since: st.took}
		for _, c := range st.want.Clusters {
			resolving(&u, c.Resolves, c.Name)
		}
		out = append(out, u)
	}
	return out
}

// resolving notes a cluster that is reached by names, of few.
func resolving(u *syncstatus.Unconfirmed, resolves bool, name string) {
	if resolves && len(u.Resolving) < mostResolving {
		u.Resolving = append(u.Resolving, name)
	}
}
