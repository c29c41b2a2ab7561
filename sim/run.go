package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Run says what happens to a request that the workload of a dataplane sends, on
// its own side and on that of each backend; it visits the endpoints of the route's
// backends and nothing else. The error is a *NotReached where no outbound leads
// to the URL, else it tells everything that is wrong with the request itself, as
// Check does.
func Run(w lookup.Reader, from api.Ref, q wire.Request) (Verdict, error) {
	if q.Method == "" && !q.Connection() {
		q.Method = http.MethodGet
	}
	v := Verdict{From: from.FullName(), Request: q}
	if err := Check(q); err != nil {
		return v, err
	}
	script, _ := timeline.ReadAnswers(q.Answers) // which Check has read
	who, _ := callerOf(&q)
	r, ok := w.Dataplane(from)
	if !ok {
		return v, fmt.Errorf("%s: there is no such dataplane", from)
	}
	f, err := lookup.Find(w, r, q)
	if err != nil {
		return v, err
	}
	v.Missed = f.Missed
	if o := f.Outbound; o != nil {
		d := o.Destination
		v.Destination = &Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}
	}
	if f.IsRead() {
		v.Unknown = append(wire.UnknownHeaders(q), f.Unknown...)
	}
	for _, l := range f.Ends {
		b := trace{world: w, from: r, draws: l.Draws, caller: who}.branch(l, q, script)
		for _, u := range b.unknown {
			if !slices.Contains(v.Unknown, u) {
				v.Unknown = append(v.Unknown, u)
			}
		}
		v.Branches = append(v.Branches, b.judged(l.Call)...)
	}
	v.Notes = append(v.Notes, who.idle(v.Branches)...)
	return v, nil
}

// branch is what becomes of a request that comes to l.
func (t trace) branch(l *lookup.End, q wire.Request, script []timeline.Answer) Branch {
	b := t.outcome(l, q)
	if len(l.Ends) > 1 {
		b.Probability, b.Draws = float64(l.Draws.Count())/match.Chances, l.Draws
	}
	if script != nil {
		b.unknown = append(b.unknown, t.attempts(l, script, &b)...)
		b.unknown = append(b.unknown, timeline.UnknownRetries(b.Attempts)...)
	}
	return b
}

// outcome is the branch but for its probability and for what happens in time.
func (t trace) outcome(l *lookup.End, q wire.Request) Branch {
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

// respond is an answer of the proxy's own. To a gRPC client it goes as a status
// of gRPC.
func respond(c *wire.Call, status uint32) Branch {
	b := Branch{Probability: 1, Outcome: Respond, Status: status}
	if c.GRPC {
		s := wire.GRPCStatus(status)
		b.GRPCStatus = &s
	}
	return b
}

// settle makes an answer of what would be forwarded where nobody can take it.
func (b *Branch) settle(c *wire.Call) {
	status := uint32(0)
	for _, x := range b.Backends {
		if x.Share == 0 {
			continue
		}
		if x.Status == 0 || status != 0 && status != x.Status {
			return
		}
		status = x.Status
	}
	if status == 0 {
		status = http.StatusInternalServerError // no backend at all
	}
	own := respond(c, status)
	b.Outcome, b.Status, b.GRPCStatus, b.Forwarded = own.Outcome, own.Status, own.GRPCStatus, nil
	b.Mirrors = nil // Envoy copies what it sends somewhere
}

// PolicyViews shows policies with who set each of their fields, where a protocol is spoken.
func PolicyViews(list effective.Policies, spoken api.Protocol) map[string]Policy {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]Policy, len(list))
	for _, e := range list {
		p := Policy{Conf: e.Conf, Why: make(map[string][]Said, len(e.Fields))}
		for _, f := range e.Fields {
			said := make([]Said, len(f.Said))
			for i, s := range f.Said {
				said[i] = saidOf(s)
			}
			path := e.Kind.Schema.Leaves[f.Field].Path
			p.Why[path] = said
			p.implies(e, path)
			if !e.Acts(f.Field, spoken) {
				p.Idle = append(p.Idle, path)
			}
		}
		out[e.Kind.Name] = p
	}
	return out
}

// implies adds what a field comes to in Envoy beside what it says.
func (p *Policy) implies(e *policies.Effective, path string) {
	if e.Kind.Implies == nil {
		return
	}
	also, keeps := e.Kind.Implies(e.Conf, path)
	if len(also) > 0 {
		if p.Implied == nil {
			p.Implied = map[string][]string{}
		}
		p.Implied[path] = also
	}
	said := p.Why[path]
	for i := range said[:len(said)-1] {
		said[i].Holds = keeps != nil && keeps(said[i].Value)
	}
}

func saidOf(s merge.Said) Said {
	return Said{Value: s.Value, Origin: s.Origin, Layer: s.Layer.String(), Override: s.Override, Lost: s.Lost.String()}
}

// answersItself says why nothing of a policy on attempts acts on a route.
const answersItself = "where nothing is forwarded"

// RoutePolicies shows the policies of a route of r. Where the proxy answers by itself
// nothing is attempted, so retries and timeouts are idle; where it always does, they
// are no part of what is effective. What is said about connections is idle where the route
// leads to none but other backends, which have their own: see Onward. Without r that is not known.
func RoutePolicies(r *effective.Resolved, rt *effective.Route, spoken api.Protocol) map[string]Policy {
	views := PolicyViews(rt.Policies, spoken)
	if forwards(rt) {
		_, idle := onward(r, rt.Policies, rt.Backends, spoken)
		leaving(views, rt.Policies, idle)
		return views
	}
	for _, e := range rt.Policies {
		if !e.Kind.Attempts {
			continue
		}
		p := views[e.Kind.Name]
		p.Idle, p.IdleReason = nil, answersItself
		for _, f := range e.Fields {
			p.Idle = append(p.Idle, e.Kind.Schema.Leaves[f.Field].Path)
		}
		if rt.Answer != nil {
			p.Conf = e.Kind.New()
		}
		views[e.Kind.Name] = p
	}
	return views
}
