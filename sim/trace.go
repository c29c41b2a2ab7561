package sim

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// trace follows a request of one dataplane through a world.
type trace struct {
	world lookup.Reader
	from  *effective.Resolved
	draws wire.Draws // of the request; where it has none of its own, any
	caller
}

// take does what rt says.
func (t trace) take(spoken api.Protocol, rt *effective.Route, c *wire.Call) Branch {
	if refuses(c, rt) {
		return t.refuse(rt, c)
	}
	if policy := preflightOf(c, rt); policy != nil {
		return preflight(c, rt, policy)
	}
	if status := denied(c, rt); status != 0 {
		return deny(c, t.from, spoken, rt, status)
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
		b.doubtEndpoint(rt)
		b.arrive(c)
		b.Mirrors = mirrors(rt, t.draws)
		if c.Upgrade == wire.WebSocket && len(b.Mirrors) > 0 {
			b.unknown = append(b.unknown, "mirrors: whether a copy of a WebSocket arrives depends on what the mirror speaks")
		}
		b.settle(c)
	}
	b.Route, b.Delay = routeOf(rt), route.DelayOf(rt.Filters)
	b.asks(rt, c)
	b.ResponseHeaders = cmp.Or(b.ResponseHeaders, response)
	if !forwards(rt) {
		b.answers(response)
	}
	b.changeForCORS(rt, c)
	b.Policies = RoutePolicies(t.from, rt, spoken)
	if b.Outcome == Forward {
		tellOnward(b.Backends, Onward(t.from, rt.Policies, rt.Backends, spoken))
	}
	b.unknown = append(b.unknown, c.Doubts...)
	b.forget()
	return b
}

// forget leaves out the backends that get none of the branch's requests. What the
// only one of the others gets is what the branch forwards.
func (b *Branch) forget() {
	b.Backends = slices.DeleteFunc(b.Backends, func(x Backend) bool { return x.Share == 0 })
	if len(b.Backends) == 1 {
		x := &b.Backends[0]
		b.ResponseHeaders = cmp.Or(x.ResponseHeaders, b.ResponseHeaders)
		if b.Outcome == Forward {
			b.Forwarded = cmp.Or(x.Forwarded, b.Forwarded)
		}
		x.Forwarded, x.ResponseHeaders = nil, nil
	}
	if b.ResponseHeaders.Empty() {
		b.ResponseHeaders = nil
	}
	for i := range b.Backends {
		if x := &b.Backends[i]; b.ResponseHeaders == nil && x.ResponseHeaders.Empty() {
			x.ResponseHeaders = nil
		}
	}
}

func routeOf(rt *effective.Route) *Route {
	return &Route{Key: rt.Key, Name: rt.Name, Matches: rt.Matches, Origins: rt.Origins}
}

// answers is what becomes of header changes on an answer of the proxy's own: it
// has no content type without a body and gRPC's own to a gRPC client, and a
// location is a header like others.
func (b *Branch) answers(h *wire.ResponseHeaders) {
	if h == nil {
		return
	}
	if b.Body == "" || b.GRPCStatus != nil {
		delete(h.Set, "content-type")
		delete(h.Add, "content-type")
	}
	if l, ok := h.Set["location"]; b.Outcome == Redirect && (ok || slices.Contains(h.Remove, "location")) {
		b.Location = l
	}
	if b.Outcome == Redirect {
		b.Location = wire.Joined(append([]string{b.Location}, h.Add.Values("location")...)...)
	}
}

// unserved is why nobody can take what rt would forward; empty where it forwards nothing as it is written,
// or the reason stands with its backends.
func unserved(rt *effective.Route) string {
	switch {
	case rt.Answer != nil:
		return ""
	case len(rt.Backends) == 0:
		return noBackend
	}
	return weightless(rt.Backends)
}

// noBackend is why nobody takes what a rule without backends would forward.
const noBackend = "the rule has no backend"

// weightless is why no backend has a share; empty where one has.
func weightless(list []effective.Backend) string {
	if len(list) == 0 || slices.ContainsFunc(list, func(b effective.Backend) bool { return b.Weight > 0 }) {
		return ""
	}
	return "the weights of all its backends are 0"
}

// forwards reports whether the proxy tries to forward what rt matches; otherwise
// it answers by itself.
func forwards(rt *effective.Route) bool { return rt.Answers() == nil }

// autoHost gives a backend outside the mesh its own host name as authority.
func autoHost(r *effective.Resolved, rt *effective.Route, rewrite *route.Rewrite, b *Branch) {
	if rewrite != nil && (rewrite.Hostname != "" || rewrite.HostHeader != "") {
		return
	}
	for n, x := range effective.Sharing(rt.Backends) {
		use := r.ClusterNamed(x.Cluster)
		if use.Cluster == nil || use.Destination == nil || use.Destination.External == nil || len(use.List) == 0 {
			continue
		}
		if use.Destination.Kind == api.KindAddress && (rewrite == nil || !rewrite.BackendsHost) {
			continue // only what is in the mesh as a service has its own host unasked
		}
		host := use.Destination.HostOf(use.List[0].Address, use.List[0].Port)
		if host == "" {
			continue
		}
		if use.Destination.Kind == api.KindAddress && len(use.List) > 1 {
			b.unknown = append(b.unknown, "host: the one shown is that of the first address of "+use.Destination.Name+"; each is called by its own")
		}
		f := b.Forwarded.Clone()
		f.Authority = host
		delete(f.Headers, "x-envoy-original-host")
		b.send(n, f)
	}
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
