package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/faults"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// maxNames is how many dataplanes that are called alike are named.
const maxNames = 10

// backends are the shares, each with the dataplanes that are called for it.
func (t trace) backends(list []effective.Backend) []Backend {
	out := shares(t.from, list, t.draws)
	for n, b := range effective.Sharing(list) {
		use := t.from.ClusterNamed(b.Cluster)
		if use.Endpoints != nil {
			out[n].Inbounds = t.inbounds(use.List)
		}
		if use.Cluster != nil {
			out[n].http2 = use.HTTP2 || use.Destination != nil && (use.Destination.Protocol == api.HTTP2 || use.Destination.Protocol == api.GRPC)
		}
	}
	return out
}

// inbounds groups those who answer at these addresses by how they treat requests.
func (t trace) inbounds(list []effective.Endpoint) []Inbound {
	var out []Inbound
	at := map[string]int{}
	last := map[int]api.Ref{} // counted last in a group: a dataplane may answer at two ports
	for i := range list {
		own := t.inboundAt(&list[i])
		if own == nil {
			continue
		}
		in := own.AsDocumented()
		names := t.proves(&list[i], in, in != own)
		holds := in.PoliciesOf(names)
		key := fingerprint(in, holds) + how(in, names)
		n, ok := at[key]
		if !ok {
			n = len(out)
			at[key] = n
			out = append(out, Inbound{Protocol: in.Protocol, Policies: PolicyViews(holds, in.Protocol), Outcome: Forward, inbound: in, names: names, holds: holds})
			out[n].injects()
		}
		g := &out[n]
		g.Share += 1 / float64(len(list))
		if ref := list[i].Dataplane; last[n] != ref {
			last[n] = ref
			g.Dataplanes++
			if len(g.Names) < maxNames {
				g.Names = append(g.Names, ref.FullName())
			}
		}
	}
	return out
}

// how tells inbounds apart by how the caller comes in.
func how(in *effective.Inbound, names []string) string {
	switch {
	case in.TLS == nil:
		return ""
	case len(names) > 0:
		return " mtls"
	case in.TLS.TakesPlain():
		return " plain"
	}
	return " refused"
}

// inboundAt is the port of a dataplane behind an endpoint; nil outside the mesh.
func (t trace) inboundAt(e *effective.Endpoint) *effective.Inbound {
	if e.Dataplane == (api.Ref{}) {
		return nil
	}
	r, ok := t.world.Dataplane(e.Dataplane)
	if !ok {
		return nil
	}
	for _, in := range r.Inbounds {
		if in.Port == e.Port && in.Address == e.Address {
			return in.Inbound
		}
	}
	return nil
}

// fingerprint is equal for inbounds that treat requests alike and say so alike. What adds up is
// one value for all about which the same is said: whole lists of callers are not written for
// each endpoint.
func fingerprint(in *effective.Inbound, holds effective.Policies) string {
	var b strings.Builder
	var folded effective.Policies
	for _, e := range holds {
		if e.Kind.Authorizer != nil {
			fmt.Fprintf(&b, "%p ", e)
		} else {
			folded = append(folded, e)
		}
	}
	for i := range in.Rules {
		fmt.Fprintf(&b, "%s %v %s;", in.Rules[i].Match.Text(), in.Rules[i].Permissions(), in.Rules[i].Closed)
	}
	text, err := json.Marshal(PolicyViews(folded, in.Protocol))
	if err != nil {
		panic(err) // confs came from JSON
	}
	return string(in.Protocol) + " " + b.String() + string(text)
}

// connect sends a connection to where whole connections go, and with it the
// request f, if it carries one.
func (t trace) connect(l *lookup.Branch, f *wire.Forwarded) Branch {
	o := l.Outbound
	b := Branch{Probability: 1, Outcome: Close, Policies: PolicyViews(o.Policies, o.Protocol())}
	if l.Connections == nil {
		return b
	}
	b.Reason = weightless(l.Connections.Backends)
	b.Policies = ConnectionPolicies(t.from, o, l.Connections.Backends)
	b.Backends = closing(t.backends(l.Connections.Backends))
	tellOnward(b.Backends, Onward(t.from, o.Policies, l.Connections.Backends, o.Protocol()))
	for n := range b.Backends {
		for k := range b.Backends[n].Inbounds {
			in := &b.Backends[n].Inbounds[k]
			if in.carried(f); in.denied() {
				in.keepOut(false)
			}
		}
	}
	if len(l.Connections.Origins) > 0 {
		b.Route = &Route{Origins: l.Connections.Origins, ServerName: l.Chain}
	}
	if slices.ContainsFunc(b.Backends, func(x Backend) bool { return x.Outcome != Close }) {
		b.Outcome, b.Forwarded = Forward, f
		t.bounded(&b, l.Connections.Backends, api.TCP)
		t.checked(&b, l.Connections.Backends, api.TCP)
	}
	return b
}

// branch is what becomes of a request that comes to l.
func (t trace) branch(l *lookup.Branch, q wire.Request, script []timeline.BackendResponse) Branch {
	b := t.outcome(l, q)
	if len(l.Ends) > 1 {
		b.Probability, b.Draws = float64(l.Draws.Count())/match.Chances, l.Draws
	}
	if script != nil {
		b.unknown = append(b.unknown, t.attempts(l, script, &b)...)
		if l.Route == nil || !t.retriesBounded(l.Route.Backends, l.Outbound.Destination.Protocol) { // else that is told
			b.unknown = append(b.unknown, timeline.UnknownRetries(b.Attempts)...)
		}
	}
	return b
}

// outcome is the branch but for its probability and for what happens in time.
func (t trace) outcome(l *lookup.Branch, q wire.Request) Branch {
	switch o := l.Outbound; {
	case l.Closed:
		return Branch{Probability: 1, Outcome: Close}
	case l.Answer != 0:
		return respond(l.Call, l.Answer)
	case o == nil:
		return Branch{Probability: 1, Outcome: Passthrough, Forwarded: cmp.Or(l.Forwarded, wire.Untouched(q, l.Address))}
	case o.Table == nil:
		return t.connect(l, wire.Untouched(q, l.Address))
	default:
		b := t.take(o.Destination.Protocol, l.Route, l.Call)
		CountBuckets(o.Table).Tell(l.Route, b.Policies)
		b.limited(l.Call, o.Table, l.Route)
		return b
	}
}

// trace follows a request of one dataplane through a world.
type trace struct {
	world lookup.Reader
	from  *effective.Resolved
	draws wire.Draws  // of the request; where it has none of its own, any
	fate  faults.Fate // by the faults of its route
	caller
}

// take does what rt says.
func (t trace) take(spoken api.Protocol, rt *effective.Route, c *wire.NormalizedRequest) Branch {
	if refuses(c, rt) {
		return t.refuse(rt, c)
	}
	if policy := preflightOf(c, rt); policy != nil {
		return preflight(c, rt, policy)
	}
	if status := denied(c, rt); status != 0 {
		return deny(c, t.from, spoken, rt, status)
	}
	if t.fate.Status != 0 {
		return t.abort(spoken, rt, c)
	}
	response := wire.ResponseChanges(rt.Changes(), c.Filling(nil))
	b := Branch{Probability: 1}
	switch do := rt.Answers().(type) {
	case *route.Redirect:
		b = redirectOf(c, do, &rt.Match)
	case *route.Respond:
		b = respond(c, do.Status)
		b.Reason = unserved(rt)
		b.Body, b.Backends = do.Body, shares(t.from, rt.Backends, t.draws)
	default:
		rewrite := route.LastRewrite(rt.Filters)
		b.Outcome, b.Backends = Forward, t.backends(rt.Backends)
		b.Forwarded = c.Forward(rt, rewrite)
		b.Forwarded.OnWire = c.SendOnWire(rt, rewrite, timeline.FirstAttemptBound(rt, spoken))
		authority := b.Forwarded.Authority
		autoHost(t.from, rt, rewrite, &b)
		filtered(rt, &b, rewrite, authority, c, spoken)
		b.doubtHost(rewrite)
		t.doubtEndpoints(&b, rt, spoken)
		b.arrive(c)
		b.Mirrors = mirrors(rt, t.draws)
		if c.Upgrade == wire.WebSocket && len(b.Mirrors) > 0 {
			b.unknown = append(b.unknown, "mirrors: whether a copy of a WebSocket arrives depends on what the mirror speaks")
		}
		b.settle(c)
		b.doubtFaults()
	}
	b.Route, b.Delay, b.Faults = routeOf(rt), t.waits(rt), t.fate.Met
	b.asks(rt, c)
	b.ResponseHeaders = cmp.Or(b.ResponseHeaders, response)
	if !forwards(rt) {
		b.answers(response)
	}
	b.changeForCORS(rt, c)
	b.Policies, b.Observed = RoutePolicies(t.from, rt, spoken), observed(rt.Policies)
	if b.Outcome == Forward {
		tellOnward(b.Backends, Onward(t.from, rt.Policies, rt.Backends, spoken))
	}
	b.unknown = append(b.unknown, c.Doubts...)
	b.forget()
	return b
}

// proves are the names that the caller of an endpoint proves to its inbound; none in
// plaintext. Of a sidecar of which nothing is known yet the documents say how it is called.
func (t trace) proves(e *effective.Endpoint, in *effective.Inbound, documented bool) []string {
	switch {
	case in.TLS == nil || t.caller.plaintext:
		return nil
	case t.caller.as != nil:
		return t.caller.as
	case e.Plain && !documented:
		return nil
	}
	return t.from.Proves()
}

// refuse is what becomes of a WebSocket where rt takes none: no filter of Envoy's
// sees it, but its answer has the headers of the route and of a drawn backend.
func (t trace) refuse(rt *effective.Route, c *wire.NormalizedRequest) Branch {
	b := respond(c, http.StatusForbidden)
	b.Backends = shares(t.from, rt.Backends, t.draws)
	for i := range b.Backends {
		b.Backends[i].Status, b.Backends[i].Reason = b.Status, "the route refuses WebSockets"
	}
	answered(rt, &b, c)
	for i := range b.Backends {
		b.answers(b.Backends[i].ResponseHeaders)
	}
	b.ResponseHeaders = cmp.Or(b.ResponseHeaders, wire.ResponseChanges(rt.Changes(), c.Filling(nil)))
	b.answers(b.ResponseHeaders)
	b.Route = routeOf(rt)
	b.unknown = append(b.unknown, c.Doubts...)
	b.forget()
	return b
}

// tellOnward sets the policies of backends that are in the order of effective.Sharing.
func tellOnward(list []Backend, views []map[string]Policy) {
	for n := range list {
		if n < len(views) && views[n] != nil {
			list[n].Policies = maps.Clone(views[n])
		}
	}
}
