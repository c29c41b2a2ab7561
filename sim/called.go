package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// maxNames is how many dataplanes that are called alike are named.
const maxNames = 10

// backends are the shares, each with the dataplanes that are called for it.
func (t trace) backends(list []effective.Backend) []Backend {
	out := shares(t.from, list, t.draws)
	for n, b := range effective.Sharing(list) {
		use := clusterOf(t.from, b.Cluster)
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
		if e.Kind.Collect != nil {
			fmt.Fprintf(&b, "%p ", e)
		} else {
			folded = append(folded, e)
		}
	}
	for i := range in.Rules {
		fmt.Fprintf(&b, "%s %p %s;", in.Rules[i].Match.Text(), in.Rules[i].Permission, in.Rules[i].Closed)
	}
	text, err := json.Marshal(PolicyViews(folded, in.Protocol))
	if err != nil {
		panic(err) // confs came from JSON
	}
	return string(in.Protocol) + " " + b.String() + string(text)
}

// through is what the caller sees of what the workload does: the inbound has
// bounds of its own, and answers where the workload does not.
func (in *Inbound) through(a Answer) (seen Answer, own bool) {
	if in.unread != nil { // it does not get to the workload
		return *in.unread, true
	}
	if !in.inbound.Protocol.HTTPLike() {
		if a.Refuse { // the connection was accepted, and ends
			return Answer{Reset: true}, true
		}
		return a, false
	}
	var bounds Timeouts
	for _, e := range in.holds {
		if x, ok := e.Conf.(Timer); ok {
			bounds = x.Timeouts()
		}
	}
	limit, _ := (&player{bounds: bounds}).deadline()
	if bounds.Stream > 0 {
		limit = min(limit, bounds.Stream)
	}
	switch {
	case a.Refuse:
		seen = in.answer(http.StatusServiceUnavailable, 0)
		seen.unsent = true
		return seen, true
	case a.Delay >= limit:
		return in.answer(http.StatusGatewayTimeout, limit), true
	case a.Reset:
		return in.answer(http.StatusServiceUnavailable, a.Delay), true
	}
	return a.cutBy(bounds), false
}

// responds notes that the sidecar itself answers every request with a status, those of gRPC in
// their way.
func (in *Inbound) responds(status uint32) {
	a := in.answer(status, 0)
	in.unread, in.Outcome, in.Status = &a, Respond, status
}

// ends notes that a by the sidecar itself ends the request.
func (in *Inbound) ends(a Answer) {
	in.Outcome, in.Status = Respond, a.Status
	if a.Reset {
		in.Outcome, in.Status = Reset, http.StatusServiceUnavailable
	}
}

// cutBy breaks an answer off that has begun and takes too long.
func (a Answer) cutBy(t Timeouts) Answer {
	for _, limit := range []time.Duration{t.Request, t.Stream, a.Delay + t.StreamIdle} {
		if limit > a.Delay && a.Complete >= limit {
			a.Complete, a.cut = limit, true
		}
	}
	return a
}

// answer is what the sidecar of in answers by itself, as the caller's sees it.
func (in *Inbound) answer(status uint32, after time.Duration) Answer {
	if in.grpc {
		s := wire.GRPCStatus(status)
		a := Answer{Status: http.StatusOK, GRPCStatus: &s, Delay: after}
		if in.webSocket { // which 200 is the word for, between Envoys, that it is open
			a.Status, a.cut = http.StatusSwitchingProtocols, true
		}
		return a
	}
	return Answer{Status: status, Delay: after}
}
