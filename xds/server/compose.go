package server

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/xds"
)

// compose makes the response that an open request of f should have now, nil if
// there is nothing to say. What the client has is the library's to know: it is
// read from the subscription. Held says that something waits for a cluster.
func (st *stream) compose(f *flow) (r *response, held bool) {
	if f.open.full != nil && f.kind.whole() {
		return st.composeWhole(f)
	}
	return st.composeParts(f)
}

// composeParts makes a response that holds only what is new to the client.
func (st *stream) composeParts(f *flow) (r *response, held bool) {
	known := f.open.sub.ReturnedResources()
	r = &response{kind: f.kind, watch: f.open, revision: st.revision}
	size, more, seen, blank := 0, false, 0, st.blank(f)
	st.all(f.kind, func(x *xds.Resource) bool {
		v := f.as(x)
		had, again := known[x.Name]
		if again {
			seen++
		}
		switch {
		case again && had == v.version, f.refused[x.Name] == x.Version, !f.open.wants(x.Name):
			return true
		case !blank && st.holds(f.kind, x):
			held = true
			return true
		}
		if more = st.full(f, len(r.list), size+len(x.Any.GetValue())); more {
			return false
		}
		v.again = again
		size += len(x.Any.GetValue())
		r.list = append(r.list, v)
		return true
	})
	if f.open.delta != nil && !more && (seen < len(known) || len(f.remove) > 0) {
		r.removed = st.gone(f, known)
	}
	first := f.open.delta != nil && f.open.sub.IsWildcard() && !f.sent
	if len(r.list)+len(r.removed) == 0 && !first {
		return nil, held
	}
	r.changed, r.part = r.list, more
	r.next = maps.Clone(known)
	if r.next == nil {
		r.next = map[string]string{}
	}
	for _, v := range r.list {
		r.next[v.Name] = v.version
	}
	for _, name := range r.removed {
		delete(r.next, name)
	}
	return r, held
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
		f.open.delta != nil && f.kind != listeners && size > st.server.opts.ResponseBytes
}

// gone are the names that the client has, or may have, and should not.
func (st *stream) gone(f *flow, known map[string]string) []string {
	switch {
	case f.kind != listeners && !st.removing,
		f.kind == endpoints && !st.flows[clusters].quiet: // the client unsubscribes by itself
		return nil
	}
	var out []string
	for name := range known {
		if st.desired(f.kind, name) == nil {
			out = append(out, name)
		}
	}
	for name := range f.remove {
		if _, ok := known[name]; !ok && st.desired(f.kind, name) == nil {
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
	known := f.open.sub.ReturnedResources()
	r = &response{kind: f.kind, watch: f.open, revision: st.revision}
	same := true
	st.all(f.kind, func(x *xds.Resource) bool {
		if !f.open.wants(x.Name) {
			return true
		}
		v := f.as(x)
		had, again := known[x.Name]
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
	if same && len(r.list) == len(known) && f.sent {
		return nil, held
	}
	r.next = make(map[string]string, len(r.list))
	for _, v := range r.list {
		r.next[v.Name] = v.version
	}
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
