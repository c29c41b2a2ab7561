package subscription

import (
	"slices"

	"github.com/weftmesh/weft/xds/resource"
)

// Available is what a client may have now, and under which conditions.
type Available interface {
	// Each yields what it may have of a type until yield says no.
	Each(t ResourceType, yield func(*resource.Resource) bool)
	// Find is what it may have under a name; nil for nothing.
	Find(t ResourceType, name string) *resource.Resource
	// Waits reports whether a resource may not be sent before another one is confirmed.
	Waits(t ResourceType, r *resource.Resource) bool
	// Keeps reports whether the client goes on with a resource of an earlier stream until it is given another one.
	Keeps(t ResourceType, name string) bool
}

// Offer is what a response may be made of.
type Offer struct {
	Source   Available
	To       Recipient
	Want     []*resource.Resource // what the client should have of the type
	Revision uint64               // of Want
	Round    uint64
	// Fresh says that the client has not had anything before this stream, and not confirmed all of a revision on it.
	Fresh bool
	// Removes says that what the client should not have may be taken away now.
	Removes bool
	// Bytes is where a delta response is split.
	Bytes int
}

// compose makes the response that an open request should have now, nil if
// there is nothing to say. What the client has is what the library took for sent, as
// LastSent has it. Held says that something waits for a cluster.
func compose(s *Subscription, o Offer) (r *Response, held bool) {
	if s.watch.full != nil && s.typ.whole() {
		return composeWhole(s, &o)
	}
	return composeParts(s, &o)
}

// composeParts makes a response that holds only what is new to the client.
func composeParts(s *Subscription, o *Offer) (r *Response, held bool) {
	r = responds(s, o)
	size, more, seen, blank := 0, false, 0, blank(s, o)
	o.Source.Each(s.typ, func(x *resource.Resource) bool {
		v := s.versions.as(x)
		had, again := s.last.Version(x.Name)
		if again {
			seen++
		}
		switch {
		case again && had == v.version, s.refused[x.Name] == x.Version, !s.watch.wants(x.Name):
			return true
		case !blank && o.Source.Waits(s.typ, x):
			held = true
			return true
		}
		if more = full(s, o, len(r.list), size+x.Size()); more {
			return false
		}
		v.again = again
		size += x.Size()
		if r.list == nil && s.last.Len() == 0 {
			r.list = make([]Versioned, 0, len(o.Want))
		}
		r.list = append(r.list, v)
		return true
	})
	if s.watch.isDelta() && !more && (seen < s.last.Len() || len(s.remove) > 0) {
		r.Removed = gone(s, o)
	}
	first := s.watch.isDelta() && s.watch.wildcard && !s.sent
	if len(r.list)+len(r.Removed) == 0 && !first {
		return nil, held
	}
	r.Changed, r.part = r.list, more
	r.next = s.last.with(o.Want, r.list, r.Removed)
	return r, held
}

// responds is an empty response to the open request.
func responds(s *Subscription, o *Offer) *Response {
	return &Response{Type: s.typ, Revision: o.Revision, to: o.To, full: s.watch.full}
}

// blank reports whether the client starts with nothing, so that nothing can
// break: an Envoy asks for listeners when its clusters are ready. One that never
// asked for a type may serve all the same: without HTTP it has no routes.
func blank(s *Subscription, o *Offer) bool { return !s.sent && o.Fresh }

// full reports whether one more resource is too much for a response of n, which
// would be size bytes with it. Listeners are never split by size: an Envoy calls
// itself ready after the first response, whatever is missing from it.
func full(s *Subscription, o *Offer, n, size int) bool {
	if n == 0 {
		return false
	}
	return s.limit > 0 && n >= s.limit ||
		s.watch.isDelta() && s.typ != Listeners && size > o.Bytes
}

// gone are the names that the client has, or may have, and should not.
func gone(s *Subscription, o *Offer) []string {
	if !o.Removes {
		return nil
	}
	var out []string
	for name := range s.last.All() {
		if o.Source.Find(s.typ, name) == nil && !o.Source.Keeps(s.typ, name) {
			out = append(out, name)
		}
	}
	for name := range s.remove {
		if _, ok := s.last.Version(name); !ok && o.Source.Find(s.typ, name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// composeWhole makes a response that holds everything, because the client drops
// what is missing from it. What the client must not have yet, or refused, is
// there as it last confirmed it.
func composeWhole(s *Subscription, o *Offer) (r *Response, held bool) {
	r = responds(s, o)
	same := true
	o.Source.Each(s.typ, func(x *resource.Resource) bool {
		if !s.watch.wants(x.Name) {
			return true
		}
		v := s.versions.as(x)
		had, again := s.last.Version(x.Name)
		refused := s.refused[x.Name] == x.Version
		if refused || had != v.version {
			wait := !blank(s, o) && o.Source.Waits(s.typ, x)
			held = held || wait
			if refused || wait || s.limit > 0 && len(r.Changed) >= s.limit {
				old, ok := before(s.good, x.Name)
				if !ok {
					return true
				}
				v = old
			} else {
				v.again = again
				r.Changed = append(r.Changed, v)
			}
		}
		same = same && had == v.version
		r.list = append(r.list, v)
		return true
	})
	if same && len(r.list) == s.last.Len() && s.sent {
		return nil, held
	}
	r.next = LastSent{}.with(o.Want, r.list, nil)
	return r, held
}

// before finds a resource in what was confirmed.
func before(good []Versioned, name string) (Versioned, bool) {
	for _, v := range good {
		if v.Name == name {
			return v, true
		}
	}
	return Versioned{}, false
}
