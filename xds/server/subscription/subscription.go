package subscription

import (
	"maps"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Subscription is one type on one stream. At any time it is either open (the client
// waits for a change), queued (the library has a response to send), or out (the
// client has a response to answer).
type Subscription struct {
	typ    ResourceType
	watch  watch // what the client asked for last
	open   bool
	queued *Response
	out    *Response

	asked bool     // the client ever subscribed
	named bool     // to a name, or to the wildcard
	last  LastSent // what the client has
	sent  bool     // anything was ever sent
	acked bool     // anything was ever confirmed

	// refused maps the name of a resource to the version that the client does
	// not take.
	refused  map[string]string
	versions versions
	// remove are names to remove of which the library does not know that the
	// client may have them.
	remove map[string]bool
	// limit bounds the changes of one response while a refusal that names
	// nothing is tracked down; 0 is no limit.
	limit int
	// good is the last state of the world that the client confirmed.
	good []Versioned
	// quiet says that the client has all that it may have now.
	quiet bool
	// owed says that there is more to send it, now or later, than what it refuses.
	owed bool
	// covers is the stream's turn at which the client had, or was being sent, all
	// that it may have: until the next turn there is nothing to say. 0 is never.
	covers uint64
	names  []string // that a state-of-the-world client asked for last
	// resent is when a refused response was last replaced, resendAt the earliest
	// time for the next replacement.
	resent, resendAt time.Time
	total            syncstatus.TypeStatus
}

// ResourceType is what the client subscribes to.
func (s *Subscription) Type() ResourceType { return s.typ }

// Requested reports whether the client ever subscribed.
func (s *Subscription) Requested() bool { return s.asked }

// Sent reports whether anything was ever sent.
func (s *Subscription) Sent() bool { return s.sent }

// Quiet reports whether the client has all that it may have now.
func (s *Subscription) Quiet() bool { return s.quiet }

// Open reports whether the client waits for a change.
func (s *Subscription) Open() bool { return s.open }

// idle reports whether neither side owes the other an answer.
func (s *Subscription) idle() bool { return s.queued == nil && s.out == nil }

// Out is the response that the client has to answer; nil for none.
func (s *Subscription) Out() *Response { return s.out }

// Wants reports whether the client asked for a name.
func (s *Subscription) Wants(name string) bool { return s.asked && s.watch.wants(name) }

// refuses reports whether the client does not take something that it should have.
func (s *Subscription) refuses() bool { return len(s.refused) > 0 || s.limit > 0 }

// settled reports whether the client has all that it may have, and has said so.
func (s *Subscription) settled() bool {
	return s.quiet && !(s.asked && s.watch.wildcard && !s.acked)
}

// resting reports whether nothing is on its way to the client, and nothing will be before something changes.
func (s *Subscription) resting() bool {
	return !s.asked || s.open && s.idle() && !s.owed && s.limit == 0
}

// Has reports whether the client has r as it should be.
func (s *Subscription) Has(r *resource.Resource) bool {
	had, ok := s.last.Version(r.Name)
	return ok && had == s.versions.as(r).version
}

// Took reports whether the client has r as it should be, and did not refuse it.
func (s *Subscription) Took(r *resource.Resource) bool {
	return s.Has(r) && s.refused[r.Name] != r.Version
}

// LastSent is what the client has.
func (s *Subscription) LastSent() LastSent { return s.last }

// Bring takes note of what the client has from an earlier stream.
func (s *Subscription) Bring(last LastSent) { s.last = last }

// Request takes a request of the state-of-the-world form. It reports whether the client may lack something of
// the type, or have too much.
func (s *Subscription) Request(q *discoveryv3.DiscoveryRequest, sub cache.Subscription) (uncovered bool) {
	s.subscribeOnly(sub)
	if s.queued != nil || !s.asked || !slices.Equal(s.names, q.GetResourceNames()) {
		s.covers, uncovered = 0, true
	}
	s.queued, s.names = nil, q.GetResourceNames() // the library dropped what was queued
	return uncovered
}

// RequestDelta is Request for the delta form, after the library took the request into sub; answers go to out.
func (s *Subscription) RequestDelta(q *discoveryv3.DeltaDiscoveryRequest, sub cache.Subscription, out chan cache.DeltaResponse) (uncovered bool) {
	if s.queued != nil {
		unqueue(s.typ, out)
		s.queued = nil
		s.covers, uncovered = 0, true
	}
	if !s.asked || len(q.GetResourceNamesSubscribe())+len(q.GetResourceNamesUnsubscribe()) > 0 {
		s.covers, uncovered = 0, true
	}
	s.unsubscribe(q.GetResourceNamesSubscribe(), q.GetResourceNamesUnsubscribe(), sub)
	if !s.asked {
		s.versions.floor(s.last)
	}
	return uncovered
}

// unqueue takes back a response that was made for the request before: it does
// not know of this one, and would make the client's state unknown.
func unqueue(t ResourceType, queue chan cache.DeltaResponse) {
	for range len(queue) {
		if r := <-queue; r.(*Response).Type != t {
			queue <- r
		}
	}
}

// subscribeOnly takes the names that a client now asks for: what it had of others is as if it
// was never sent.
func (s *Subscription) subscribeOnly(sub cache.Subscription) {
	if sub.IsWildcard() {
		return
	}
	s.last = s.last.only(func(name string) bool {
		_, ok := sub.SubscribedResources()[name]
		return ok
	})
}

// unsubscribe takes what a request of the delta form changes, after the library took it
// into sub.
func (s *Subscription) unsubscribe(subscribe, unsubscribe []string, sub cache.Subscription) {
	s.named = s.named || len(subscribe) > 0
	if s.named && len(unsubscribe) > 0 { // else the library takes no notice
		s.last = s.last.unsubscribed(unsubscribe, sub.ReturnedResources())
	}
	if s.named && slices.Contains(unsubscribe, wildcard) { // it drops what it has not asked for by name
		s.subscribeOnly(sub)
	}
}

// Wait has the client wait for a change of what it asked for; out is where the answer to a request of the
// state-of-the-world form goes.
func (s *Subscription) Wait(sub cache.Subscription, q *discoveryv3.DiscoveryRequest, out chan cache.Response) {
	s.watch = watchOf(sub)
	if q != nil {
		s.watch.full = &fullRequest{q, out}
	}
	s.open, s.asked = true, true
}

// force makes what the client has of a name look outdated, whose content should be hash.
func (s *Subscription) force(name, hash string) {
	s.versions.force(name, hash)
	s.covers = 0
}

// RequestedAgain sends what the client subscribes to although it was sent before:
// it forgot it in between.
func (s *Subscription) RequestedAgain(names []string, from Available) {
	for _, name := range names {
		if _, ok := s.last.Version(name); !ok {
			continue
		}
		if r := from.Find(s.typ, name); r != nil {
			s.force(r.Name, r.Version)
		}
	}
}

// Reload sends the endpoints of every changed cluster again, right behind it. An
// Envoy that warms a changed cluster asks for nothing and waits for a version
// that it has not seen; until then the change is neither active nor confirmed.
func (s *Subscription) Reload(clusters *Response, from Available) {
	for _, v := range clusters.Changed {
		if !v.EDS || !v.again {
			continue
		}
		if e := from.Find(s.typ, v.Name); e != nil {
			s.force(e.Name, e.Version)
		}
	}
}

// Doubt has names sent again, or removed, of which nobody knows whether the client has them.
func (s *Subscription) Doubt(names map[string]bool) {
	for name := range names {
		s.removeAgain([]string{name})
		version, _ := s.last.Version(name)
		if hash, _, _ := strings.Cut(version, "."); hash != "" {
			s.force(name, hash)
		}
	}
}

func (s *Subscription) removeAgain(names []string) {
	if len(names) > 0 && s.remove == nil {
		s.remove = map[string]bool{}
	}
	for _, name := range names {
		s.remove[name] = true
	}
}

// Changed takes note that what the client should have of the type is another list now.
func (s *Subscription) Changed(list []*resource.Resource) {
	s.limit, s.resendAt = 0, time.Time{}
	maps.DeleteFunc(s.refused, func(name, version string) bool {
		r := Find(list, name)
		return r == nil || r.Version != version
	})
	s.versions.forget(list)
}

// Unchanged takes note that it is the same at turn as at was.
func (s *Subscription) Unchanged(was, turn uint64) {
	if was > 0 && s.covers == was {
		s.covers = turn
	}
}

// tidy has what the client has be the list that it should have, where both are the same: else a list of an
// earlier state would be kept.
func (s *Subscription) tidy(want []*resource.Resource) {
	if slices.EqualFunc(s.last.list, want, sameContent) {
		s.last.list = want
	}
}

// Ready reports whether a response may be made now. There is nothing to say where the client has, or is being
// sent, all of this turn, and nothing is being removed.
func (s *Subscription) Ready(turn uint64, removing bool) bool {
	s.quiet = !s.asked
	if !s.open || !s.idle() {
		return false // one response at a time: the answer to it will open the next request
	}
	if s.covers == turn && !removing {
		s.quiet, s.owed = true, false
		return false
	}
	return true
}

// Next makes the next response and takes it as queued; nil where there is nothing to say, or nothing before
// a time.
func (s *Subscription) Next(o Offer) (r *Response, notBefore time.Time) {
	r, held := compose(s, o)
	s.owed = held || r != nil
	if r == nil {
		s.quiet = !held && len(s.refused) == 0
		s.resendAt = time.Time{}
		if !held {
			s.limit = 0
		}
		s.cover(o.Round, s.quiet)
		return nil, time.Time{}
	}
	if time.Now().Before(s.resendAt) {
		return nil, s.resendAt
	}
	if !s.resendAt.IsZero() {
		s.resent, s.resendAt = time.Now(), time.Time{}
	}
	s.cover(o.Round, !held && !r.part && s.limit == 0 && len(s.refused) == 0)
	s.queued, s.open = r, false
	return r, time.Time{}
}

// cover notes at a turn whether the client has all, or is being sent it.
func (s *Subscription) cover(turn uint64, all bool) {
	if s.covers = 0; all {
		s.covers = turn
	}
}

// Sending turns the queued response into the one that is out. It is nil where that was taken back while the
// library had it in hand: the client answers it in vain.
func (s *Subscription) Sending(nonce string) *Response {
	r := s.queued
	if r == nil {
		return nil
	}
	s.queued, s.out = nil, r
	r.nonce, r.At = nonce, time.Now()
	s.sent = true
	s.total.Sent++
	return r
}

// Returned takes note of what the client has when it takes r.
func (s *Subscription) Returned(r *Response) { s.last = r.next }

// Answered is the response that a nonce answers; nil where that is the nonce of a change of subscription.
func (s *Subscription) Answered(nonce string) *Response {
	r := s.out
	if r == nil || nonce != r.nonce {
		return nil
	}
	s.out = nil
	return r
}

// Confirm takes an ACK of r; want is what the client should have of the type.
func (s *Subscription) Confirm(r *Response, want []*resource.Resource) {
	s.acked = true
	s.total.Acked++
	s.good = nil
	if r.full != nil && s.typ.whole() {
		s.good = r.list
	}
	if s.limit > 0 {
		s.limit *= 2
	}
	for _, name := range r.Removed {
		delete(s.remove, name)
	}
	if r.full == nil {
		if settled := s.versions.settle(r.Changed, s.last); len(settled) > 0 {
			s.last = s.last.with(want, settled, nil)
		}
	}
}

// Refusal is what is to be done about a NACK.
type Refusal struct {
	Culprits    []Versioned          // that it names
	Wanted      func(Versioned) bool // the client should still have it
	ResendEvery time.Duration        // the least time between two replacements
	At          time.Time
}

// Refuse takes a NACK of r. What an Envoy does with a refused response depends on the
// kind of error: it may have dropped all of it, or applied everything but the
// culprits, and its own record of versions may be wrong afterwards. So the
// culprits are left out, as the client last confirmed them, until their content
// changes, and all else of the response goes out again under fresh versions.
func (s *Subscription) Refuse(r *Response, why Refusal) {
	s.total.Nacked++
	s.covers = 0
	late := slices.ContainsFunc(r.Changed, func(v Versioned) bool { return !why.Wanted(v) })
	if len(why.Culprits) == 0 && !late { // half of it next time, until the culprit is alone
		s.limit = max(1, len(r.Changed)/2)
	}
	for _, v := range why.Culprits {
		if !why.Wanted(v) {
			continue // another content took its place already, which goes out as any other
		}
		if s.refused == nil {
			s.refused = map[string]string{}
		}
		s.refused[v.Name] = v.Version
	}
	for _, v := range r.Changed {
		if s.refused[v.Name] != v.Version {
			s.force(v.Name, v.Version)
		}
	}
	if len(r.Changed) > 0 { // else the removal itself is what is refused
		s.removeAgain(r.Removed)
	}
	s.resendAt = why.At
	if next := s.resent.Add(why.ResendEvery); why.At.Before(next) && !late {
		s.resendAt = next
	}
}
