package push

import (
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/nack"
	"github.com/weftmesh/weft/xds/server/subscription"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Stream is what is known of one stream: what its client asked for, has, and should have.
type Stream struct {
	opts    *Options
	to      Transport
	peer    *syncstatus.Peer
	grpc    bool // the client is gRPC itself, not Envoy
	history *DataplaneRecord

	content
	progress
	warming  warming
	checking checking
	alarm    alarm
	subs     subscription.All
	secret   *resource.Resource                                  // that this stream alone is served; nil for none
	brings   map[subscription.ResourceType]subscription.LastSent // what the client had before it opened the stream, until it asks for the type
	deltaOut chan cache.DeltaResponse                            // where answers of the delta form go
	noted    map[string]string                                   // by the library, of names that a client unsubscribes from

	closed    bool
	suspended bool      // the library is busy with a request that is not here yet
	removing  bool      // what goes may be removed now
	brought   bool      // the client had resources before it opened the stream
	drained   time.Time // when no connection of an earlier listener is left that could need what goes
	took      time.Time // when the client confirmed clusters for the first time
}

// New is a stream of a peer, which stays as it is. Resume must follow.
func New(o *Options, p *syncstatus.Peer, to Transport) Stream {
	return Stream{opts: o, to: to, peer: p, grpc: syncstatus.IsGRPC(p.Client), subs: subscription.New()}
}

// Resume goes on with what earlier streams of the dataplane left, and with what it refused last; nil for nothing.
func (s *Stream) Resume(h *DataplaneRecord, refused *syncstatus.Nack) {
	s.history, s.nack = h, refused
	if !s.grpc {
		s.retained, s.drained = h.drains.retained, h.drains.until
	}
}

// Close has nothing sent any more.
func (s *Stream) Close() {
	s.closed, s.secret = true, nil
	s.alarm.stop()
	s.subs.Close()
}

// Closed reports whether nothing is sent any more.
func (s *Stream) Closed() bool { return s.closed }

// Resolved is what the client should have, or would if it could be rendered; nil while the dataplane is unknown.
func (s *Stream) Resolved() *effective.Resolved { return s.resolved }

// Want are the resources that the client should have; nil for nothing yet.
func (s *Stream) Want() *resource.State { return s.want }

// Find is the resource of a name that the client may have; nil for none.
func (s *Stream) Find(t subscription.ResourceType, name string) *resource.Resource {
	return s.find(t, name)
}

// Note says in the status what keeps the client without its configuration.
func (s *Stream) Note(text string) { s.note = text }

// Update makes state, which was rendered of r at a revision, what the client should have; nil where a bug in
// rendering struck: the client keeps what it has. It reports whether anything changed. Pump must follow.
func (s *Stream) Update(r *effective.Resolved, revision uint64, state *resource.State) bool {
	s.resolved, s.note, s.failed = r, "", false
	if state == nil {
		s.failed = true
		s.note = "a bug in weft keeps the newest configuration from being rendered; report the log of the control plane"
		return false
	}
	if r.Failed != "" {
		s.failed = true
		s.note = "a bug in weft keeps a part of the newest configuration from being known, which stays as it was; run 'weft problems'"
		if s.want != nil {
			state = state.Over(s.want)
		}
	}
	s.replace(withSecret(s.secret, state, r), revision)
	return true
}

// Give serves a secret on this stream, instead of the one that it was given before. It reports whether what the
// client should have changed, after which Pump must follow.
func (s *Stream) Give(secret *resource.Resource) bool {
	s.secret = secret
	if s.want == nil || s.resolved == nil {
		return false
	}
	now := withSecret(secret, s.want, s.resolved)
	if now == s.want {
		return false
	}
	s.replace(now, s.revision)
	return true
}

// replace makes now what the client should have.
func (s *Stream) replace(now *resource.State, revision uint64) {
	before := s.want
	if before == nil {
		before = &resource.State{}
	}
	was, pruned := s.turn, s.turn > 0 && !s.retains()
	s.turn++
	for t := range s.subs {
		f := &s.subs[t]
		list := f.Type().Of(now)
		if slices.Equal(list, f.Type().Of(before)) {
			if !s.retains() {
				f.Unchanged(was, s.turn)
			}
			continue
		}
		pruned = pruned && f.Type() > subscription.Endpoints && !(f.Type() == subscription.Routes && lost(before.Routes, list))
		f.Changed(list)
	}
	held := s.retained
	s.retain(before, now, s.warming)
	if !slices.Equal(before.Listeners, now.Listeners) && leadElsewhere(before.Listeners, now.Listeners) {
		s.drained = time.Now().Add(s.opts.Drain)
	}
	if !s.grpc {
		s.warming.track(before, &held, now)
	}
	s.want, s.revision = now, revision
	if pruned && s.content.pruned == was {
		s.content.pruned = s.turn
	}
	s.changed(s.subs.Refuse())
}

// Bring takes what a client brings along of a type from an earlier stream, as it says
// in its first request for it.
func (s *Stream) Bring(t subscription.ResourceType, versions map[string]string) {
	if len(versions) == 0 {
		return
	}
	var want []*resource.Resource
	if s.want != nil {
		want = t.Of(s.want)
	}
	if s.brings == nil {
		s.brings = map[subscription.ResourceType]subscription.LastSent{}
	}
	s.brings[t] = subscription.Brought(versions, want)
}

// Request takes a request of the state-of-the-world form, whose answer goes to out.
func (s *Stream) Request(t subscription.ResourceType, q *discoveryv3.DiscoveryRequest, sub cache.Subscription, out chan cache.Response) {
	f := s.begin(t, q.GetVersionInfo() != "")
	if f.Request(q, sub) {
		s.pruned = 0
	}
	s.answered(f, q.GetResponseNonce(), q.GetErrorDetail())
	s.wait(f, sub, q, out)
}

// RequestDelta takes a request of the delta form, after the library took it into sub; answers go to out.
func (s *Stream) RequestDelta(t subscription.ResourceType, q *discoveryv3.DeltaDiscoveryRequest, sub cache.Subscription, out chan cache.DeltaResponse) {
	f := s.begin(t, false)
	s.deltaOut = out
	if f.RequestDelta(q, sub, out) {
		s.pruned = 0
	}
	if !f.Requested() {
		s.history.unverified.Apply(f)
	} else {
		f.RequestedAgain(q.GetResourceNamesSubscribe(), source{s})
	}
	s.answered(f, q.GetResponseNonce(), q.GetErrorDetail())
	s.wait(f, sub, nil, nil)
}

// begin takes note, before the first request for a type, of what the client has of it from an earlier stream, as
// it said before or says now with has. Which of its listeners drain only that stream knew, so whatever the client
// should not have stays for the drain time.
func (s *Stream) begin(t subscription.ResourceType, has bool) *subscription.Subscription {
	s.suspended = false
	f := &s.subs[t]
	if f.Requested() {
		return f
	}
	f.Bring(s.brings[t])
	delete(s.brings, t)
	if f.LastSent().Len() > 0 || has {
		s.brought, s.drained = true, time.Now().Add(s.opts.Drain)
	}
	return f
}

// wait has the client wait for what comes after a request.
func (s *Stream) wait(f *subscription.Subscription, sub cache.Subscription, q *discoveryv3.DiscoveryRequest, out chan cache.Response) {
	late := f.Type() == subscription.Listeners && s.starting() && s.slow(s.took)
	f.Wait(sub, q, out)
	s.confirmKnown(f)
	s.Pump()
	if late { // Status told of it
		s.opts.Observer.SidecarChanged(s.peer.Dataplane)
	}
}

// confirmKnown confirms what a client brought along from an earlier stream.
func (s *Stream) confirmKnown(f *subscription.Subscription) {
	if f.Sent() || f.Type() > subscription.Endpoints || s.want == nil {
		return
	}
	for name := range f.LastSent().All() {
		if r := s.find(f.Type(), name); r != nil && f.Has(r) {
			s.checking.add(name, s.warming.confirm(f.Type(), name))
		}
	}
}

// answered takes what the client says of the response that is out. Any other
// nonce is that of a change of subscription.
func (s *Stream) answered(f *subscription.Subscription, nonce string, refusal *status.Status) {
	r := f.Answered(nonce)
	switch {
	case r == nil:
	case refusal != nil:
		s.refuse(f, r, refusal.GetMessage())
	default:
		s.confirm(f, r)
	}
}

// confirm takes an ACK.
func (s *Stream) confirm(f *subscription.Subscription, r *subscription.Response) {
	f.Confirm(r, r.Type.Of(s.want))
	for _, v := range r.Changed {
		s.checking.add(v.Name, s.warming.confirm(r.Type, v.Name))
	}
	s.history.unverified.Clear(r)
	took := time.Since(r.At)
	s.opts.Observer.Acked(*s.peer, r.Push(), took)
	if r.Type == subscription.Clusters && s.took.IsZero() {
		s.took = time.Now()
	}
	if took >= s.opts.Slow { // Status told of it
		s.opts.Observer.SidecarChanged(s.peer.Dataplane)
	}
}

// refuse takes a NACK.
func (s *Stream) refuse(f *subscription.Subscription, r *subscription.Response, words string) {
	s.pruned = 0
	culprits := nack.Culprits(r.Changed, words)
	now := time.Now()
	f.Refuse(r, subscription.Refusal{Culprits: culprits, ResendEvery: s.opts.ResendEvery, At: now,
		Wanted: func(v subscription.Versioned) bool { return s.wanted(r, v) }})
	s.history.unverified.Add(r)
	n := nack.Of(r, culprits, words)
	n.At, n.Current, n.Acked, n.Brought = now, s.subs.Refuse(), s.acked, s.brought
	s.nack, s.synced = &n, false
	s.history.refusals.Write(s.opts.Logger, s.peer.Dataplane, n, s.opts.LogEvery)
	s.opts.Observer.Nacked(*s.peer, n)
}

// wanted reports whether the client should still have v, which r brought it: a
// refusal may arrive after a publication that replaces what it refuses.
func (s *Stream) wanted(r *subscription.Response, v subscription.Versioned) bool {
	if r.Revision == s.revision {
		return true
	}
	now := s.find(r.Type, v.Name)
	return now != nil && now.Version == v.Version
}

// Suspend says that the library is busy with a request: nothing is sent until it is here.
func (s *Stream) Suspend() { s.suspended = true }

// Returned is subscription.Recipient's, under the lock of the stream.
func (s *Stream) Returned(r *subscription.Response) map[string]string {
	s.subs[r.Type].Returned(r)
	if s.noted == nil || len(s.noted) > 0 {
		s.noted = map[string]string{}
	}
	return s.noted
}

// Sending takes note that the queued response of a type is sent under a nonce.
func (s *Stream) Sending(t subscription.ResourceType, nonce string) {
	r := s.subs[t].Sending(nonce)
	if r == nil {
		return
	}
	s.opts.Observer.Pushed(*s.peer, r.Push())
	if t == subscription.Clusters {
		s.subs[subscription.Endpoints].Reload(r, source{s})
		s.Pump()
		return
	}
	before := s.alarm.due
	if s.wakeSlow(r.At); !s.alarm.due.Equal(before) {
		s.alarm.arm(s.to.Wake)
	}
}

// Pump sends whatever may be sent now.
func (s *Stream) Pump() {
	if s.want == nil || s.closed || s.suspended {
		return
	}
	s.alarm.clear()
	for t := range s.subs {
		s.serve(&s.subs[t])
	}
	if s.grpc {
		s.release(&s.subs[subscription.Clusters])
	} else if s.pruned != s.turn && s.mayRemove() {
		s.prune()
	}
	s.check()
	s.awaitAnswers()
	s.alarm.arm(s.to.Wake)
}

// serve sends a response of one type if there is something to say.
func (s *Stream) serve(f *subscription.Subscription) {
	if !f.Ready(s.turn, s.removing) {
		return
	}
	t := f.Type()
	r, notBefore := f.Next(subscription.Offer{
		Source: source{s}, To: s.to, Want: t.Of(s.want), Revision: s.revision, Round: s.turn, Bytes: s.opts.ResponseBytes,
		Fresh: !s.brought && s.confirmed == nil,
		// Of endpoints whose clusters are gone the client unsubscribes by itself.
		Removes: t == subscription.Listeners || s.removing && !(t == subscription.Endpoints && !s.subs[subscription.Clusters].Quiet()),
	})
	if r != nil {
		r.Send(s.deltaOut)
	} else if !notBefore.IsZero() {
		s.alarm.set(notBefore)
	}
}

// mayRemove reports whether no listener or route of the client names what it
// should not have. An Envoy that reconnects has routes before it asks for them.
func (s *Stream) mayRemove() bool {
	if time.Now().Before(s.drained) {
		s.alarm.set(s.drained)
		return false
	}
	lds, rds := &s.subs[subscription.Listeners], &s.subs[subscription.Routes]
	return lds.Quiet() && rds.Quiet() && lds.Requested() && (rds.Requested() || len(s.want.Routes) == 0)
}

// prune takes away what the client should not have: routes, then the clusters that
// they may have named, then the endpoints of those.
func (s *Stream) prune() {
	s.drop()
	cds, eds, rds := &s.subs[subscription.Clusters], &s.subs[subscription.Endpoints], &s.subs[subscription.Routes]
	s.removing = true
	if s.serve(rds); rds.Quiet() {
		s.serve(cds)
		s.serve(eds)
	}
	s.removing = false
	if cds.Quiet() && eds.Quiet() && rds.Quiet() {
		s.pruned = s.turn
	}
}

// check notes when the client has confirmed everything, or has confirmed all but what it refuses.
func (s *Stream) check() {
	if !s.synced && s.subs.Settled() && complete(&s.subs, s.want, s.grpc) {
		s.sync(s.revision, s.subs.Refuse())
		s.subs.Tidy(s.want)
		s.opts.Observer.Synced(*s.peer, s.revision)
	}
	var lacks []string
	known := !s.failed && s.subs.Refuse()
	if known {
		lacks, known = lacking(&s.subs, s.want)
	}
	if s.part(lacks, known) {
		s.opts.Observer.SidecarChanged(s.peer.Dataplane)
	}
}

// awaitAnswers has the stream looked at again when the client has taken too long, so that whoever
// follows its status is told.
func (s *Stream) awaitAnswers() {
	for t := range s.subs {
		if r := s.subs[t].Out(); r != nil {
			s.wakeSlow(r.At)
		}
	}
	if s.starting() {
		s.wakeSlow(s.took)
	}
}

// wakeSlow has the stream pumped again when what began at a time takes too long.
func (s *Stream) wakeSlow(began time.Time) {
	if at := began.Add(s.opts.Slow); time.Now().Before(at) && !s.closed {
		s.alarm.set(at)
	}
}

// starting reports whether the client has confirmed its first clusters and not asked for listeners: an Envoy
// does that when all its clusters are ready.
func (s *Stream) starting() bool {
	return !s.grpc && s.want != nil && !s.took.IsZero() && !s.subs[subscription.Listeners].Requested()
}

// slow reports whether what began at a time takes too long by now.
func (s *Stream) slow(began time.Time) bool { return time.Since(began) >= s.opts.Slow }

// unconfirmed is what the client takes too long for.
func (s *Stream) unconfirmed() (out []syncstatus.Unconfirmed) {
	for t := range s.subs {
		if r := s.subs[t].Out(); r != nil && s.slow(r.At) {
			out = append(out, unanswered(r))
		}
	}
	if s.starting() && s.slow(s.took) {
		out = append(out, unasked(s.took, s.want.Clusters))
	}
	return out
}

// Status is how far the client is, without the counts of types. Newest is the revision that is published; dirty
// says that the stream has not looked at it yet.
func (s *Stream) Status(newest uint64, dirty bool) syncstatus.Status {
	p := s.peer
	out := syncstatus.Status{
		Dataplane: p.Dataplane, Connected: true, Streams: 1,
		Protocol: p.Protocol, Client: p.Client, Version: p.Version, Agent: p.Agent,
		Confirmed: s.confirmed, Published: newest, Acked: s.acked, InSync: s.synced && !dirty && !s.failed,
		Nack: s.nack, Note: s.note, Unconfirmed: s.unconfirmed(), Rest: s.rest, Lacks: s.lacks,
	}
	switch {
	case dirty, s.failed, s.want == nil:
		out.Published = s.revision
	case s.synced:
		out.Acked = newest
	}
	return out
}

// Types counts the responses of each type.
func (s *Stream) Types() map[string]syncstatus.TypeStatus { return s.subs.Totals(s.want) }

// Sent are the resources that the client should have, of each type of which anything was sent.
func (s *Stream) Sent() *resource.State {
	if s.want == nil {
		return &resource.State{}
	}
	return s.subs.Sent(s.want)
}

// Work is what a stream has done and has to do.
type Work struct {
	Looked   int  // at how many resources, for responses
	Retained int  // clusters that the client should no longer have
	Idle     bool // nothing is to be sent or answered, and nothing is due later
}

// Work is what the stream has done and has to do.
func (s *Stream) Work() Work {
	return Work{Looked: s.looked, Retained: len(s.retained.Clusters), Idle: s.alarm.due.IsZero() && s.subs.Idle()}
}
