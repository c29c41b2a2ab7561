package server

import (
	"slices"

	"github.com/weftmesh/weft/xds/resource"
)

// compose makes the response that an open request of f should have now, nil if
// there is nothing to say. What the client has is what the library took for sent, as
// flow.told has it. Held says that something waits for a cluster.
func (st *stream) compose(f *flow) (r *response, held bool) {
	if f.watch.full != nil && f.kind.whole() {
		return st.composeWhole(f)
	}
	return st.composeParts(f)
}

// composeParts makes a response that holds only what is new to the client.
func (st *stream) composeParts(f *flow) (r *response, held bool) {
	r = st.responds(f)
	size, more, seen, blank := 0, false, 0, st.blank(f)
	st.all(f.kind, func(x *resource.Resource) bool {
		v := f.as(x)
		had, again := f.told.version(x.Name)
		if again {
			seen++
		}
		switch {
		case again && had == v.version, f.refused[x.Name] == x.Version, !f.watch.wants(x.Name):
			return true
		case !blank && st.holds(f.kind, x):
			held = true
			return true
		}
		if more = st.full(f, len(r.list), size+x.Size()); more {
			return false
		}
		v.again = again
		size += x.Size()
		if r.list == nil && f.told.len() == 0 {
			r.list = make([]versioned, 0, len(f.kind.of(st.want)))
		}
		r.list = append(r.list, v)
		return true
	})
	if f.watch.isDelta() && !more && (seen < f.told.len() || len(f.remove) > 0) {
		r.removed = st.gone(f)
	}
	first := f.watch.isDelta() && f.watch.wildcard && !f.sent
	if len(r.list)+len(r.removed) == 0 && !first {
		return nil, held
	}
	r.changed, r.part = r.list, more
	r.next = f.told.with(f.kind.of(st.want), r.list, r.removed)
	return r, held
}

// responds is an empty response to the open request of f.
func (st *stream) responds(f *flow) *response {
	return &response{stream: st, kind: f.kind, full: f.watch.full, revision: st.revision}
}

// blank reports whether the client starts with nothing, so that nothing can
// break: an Envoy asks for listeners when its clusters are ready. One that never
// asked for a type may serve all the same: without HTTP it has no routes.
func (st *stream) blank(f *flow) bool { return !f.sent && !st.brought && st.confirmed == nil }

// full reports whether one more resource is too much for a response of n, which
// would be size bytes with it. Listeners are never split by size: an Envoy calls
// itself ready after the first response, whatever is missing from it.
func (st *stream) full(f *flow, n, size int) bool {
	if n == 0 {
		return false
	}
	return f.limit > 0 && n >= f.limit ||
		f.watch.isDelta() && f.kind != listeners && size > st.server.opts.ResponseBytes
}

// gone are the names that the client has, or may have, and should not.
func (st *stream) gone(f *flow) []string {
	switch {
	case f.kind != listeners && !st.removing,
		f.kind == endpoints && !st.flows[clusters].quiet: // the client unsubscribes by itself
		return nil
	}
	var out []string
	for name := range f.told.all() {
		if st.desired(f.kind, name) == nil && !st.keeps(f.kind, name) {
			out = append(out, name)
		}
	}
	for name := range f.remove {
		if _, ok := f.told.version(name); !ok && st.desired(f.kind, name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// composeWhole makes a response that holds everything, because the client drops
// what is missing from it. What the client must not have yet, or refused, is
// there as it last confirmed it.
func (st *stream) composeWhole(f *flow) (r *response, held bool) {
	r = st.responds(f)
	same := true
	st.all(f.kind, func(x *resource.Resource) bool {
		if !f.watch.wants(x.Name) {
			return true
		}
		v := f.as(x)
		had, again := f.told.version(x.Name)
		refused := f.refused[x.Name] == x.Version
		if refused || had != v.version {
			wait := !st.blank(f) && st.holds(f.kind, x)
			held = held || wait
			if refused || wait || f.limit > 0 && len(r.changed) >= f.limit {
				old, ok := before(f.good, x.Name)
				if !ok {
					return true
				}
				v = old
			} else {
				v.again = again
				r.changed = append(r.changed, v)
			}
		}
		same = same && had == v.version
		r.list = append(r.list, v)
		return true
	})
	if same && len(r.list) == f.told.len() && f.sent {
		return nil, held
	}
	r.next = told{}.with(f.kind.of(st.want), r.list, nil)
	return r, held
}

// before finds a resource in what was confirmed.
func before(good []versioned, name string) (versioned, bool) {
	for _, v := range good {
		if v.Name == name {
			return v, true
		}
	}
	return versioned{}, false
}
