package sim

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Reader is what Run asks of a world; *resolve.Model is one.
type Reader interface {
	Dataplane(api.Ref) (*resolve.Resolved, bool)
	Destinations(mesh string) iter.Seq[*resolve.Destination]
}

// Run says what happens to a request that the workload of a dataplane sends, on
// its own side and on that of each backend; it visits the endpoints of the route's
// backends and nothing else. The error is a *NotReached where no outbound leads
// to the URL, else it tells what is wrong with the request itself.
func Run(w Reader, from api.Ref, q Request) (Verdict, error) {
	if q.Method == "" && !q.bare() {
		q.Method = http.MethodGet
	}
	v := Verdict{From: from.Name, Request: q}
	script, err := ParseAnswers(q.Answers)
	if err != nil {
		return v, err
	}
	r, ok := w.Dataplane(from)
	if !ok {
		return v, fmt.Errorf("%s: there is no such dataplane", from)
	}
	l, err := lookUp(w, r, q)
	if err != nil {
		return v, err
	}
	v.Missed = l.missed
	o := l.outbound
	if o != nil {
		d := o.Destination
		v.Destination = &Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}
	}
	t := taker{world: w, from: r}
	var b Branch
	switch {
	case l.answer != 0:
		v.Unknown = unknownOf(q)
		b = l.call.respond(l.answer)
	case o == nil:
		b = Branch{Probability: 1, Outcome: Passthrough, Forwarded: untouched(q, l.address)}
	case o.Table == nil:
		b = t.connect(o, untouched(q, l.address))
	default:
		v.Unknown = unknownOf(q)
		b = t.take(o.Destination.Protocol, l.route, l.call)
		v.Unknown = append(v.Unknown, b.unknown...)
		CountBuckets(o.Table).Tell(l.route, b.Policies)
	}
	if script != nil {
		v.Unknown = append(v.Unknown, t.attempts(l, script, &b)...)
		v.Unknown = append(v.Unknown, unknownInTime(b.Attempts)...)
	}
	v.Branches = []Branch{b}
	return v, nil
}

// lookup is what a request comes to: an answer of the proxy's own, or else a
// route; an outbound without routes; or nothing, which is passed through.
type lookup struct {
	address  *address
	call     *call
	outbound *resolve.Outbound
	route    *resolve.Route
	missed   []Miss
	answer   uint32
}

func lookUp(w Reader, r *resolve.Resolved, q Request) (*lookup, error) {
	if q.Method == "" && !q.bare() {
		q.Method = http.MethodGet
	}
	if err := sound(q); err != nil {
		return nil, err
	}
	a, err := parseURL(q.URL)
	if err != nil {
		return nil, err
	}
	l := &lookup{address: &a, call: callOf(q, &a), outbound: find(r, &a)}
	if o := l.outbound; o != nil && o.ToHost() {
		if l.outbound = askedHost(r, o, l.call.authority); l.outbound == nil {
			l.answer = http.StatusNotFound
			return l, nil
		}
	}
	switch o := l.outbound; {
	case o == nil && spec(r).Gateway != nil && spec(r).Gateway.Type == "BUILTIN":
		l.answer = http.StatusNotFound
	case o == nil && a.port == 0:
		return nil, fmt.Errorf("url: tcp:// stands for no port; write one, as tcp://%s:5432", a.authority)
	case o == nil:
		if err := mesh(w.Destinations(r.Ref.Mesh)).notReached(r, &a); err != nil {
			return nil, err
		}
	case o.Table == nil:
	case a.scheme == bareScheme:
		return nil, fmt.Errorf("url: %s looks for requests, which decide where they go; ask for one, as http://%s", o.Destination.ID, a.authority)
	case a.scheme == "https":
		return nil, fmt.Errorf("url: %s is called over plain HTTP inside the mesh; write http://%s", o.Destination.ID, a.authority)
	default:
		l.look(o.Table, q)
	}
	return l, nil
}

// look finds the first route that matches.
func (l *lookup) look(t *resolve.Table, q Request) {
	c := l.call
	path, ok := normalize(c.path)
	c.path = path
	switch {
	case !c.http2 && !(slices.Contains(known, c.method) && measured(q.Headers)):
		l.answer = http.StatusBadRequest
	case encoded(q.Headers):
		l.answer = http.StatusNotImplemented
	case c.refused:
		l.answer = http.StatusBadRequest
	case q.Version == "1.0":
		l.answer = http.StatusUpgradeRequired
	case c.hostless && c.method != http.MethodConnect, strings.ContainsFunc(c.authority, notInHost):
		l.answer = http.StatusBadRequest
	case !ok && c.method != http.MethodConnect:
		l.answer = http.StatusBadRequest
	}
	if l.answer != 0 {
		return
	}
	asked := c.asked()
	for _, rt := range t.Routes {
		reason := "a CONNECT request has no path to match"
		if c.method != http.MethodConnect {
			reason = rt.Match.WhyNot(asked)
		}
		if reason == "" && c.upgrade == unknownUpgrade {
			l.answer = http.StatusForbidden
			return
		}
		if reason == "" {
			l.route = rt
			return
		}
		l.missed = append(l.missed, Miss{Key: rt.Key, Origins: rt.Origins, Reason: reason})
	}
	l.answer = http.StatusNotFound
}

// requestID stands for the one that Envoy makes up before it looks for a route.
const requestID = "00000000-0000-4000-8000-000000000000"

// callOf is what Envoy makes of q.
func callOf(q Request, a *address) *call {
	c := &call{
		method: q.Method, authority: authority(q, a), path: a.path, query: a.query, sent: received(q.Headers, q.Version == "2"),
		body: q.Body, http2: q.Version == "2",
	}
	c.upgraded(q.Headers)
	c.refused = !c.nominated(q.Headers)
	c.grpc = c.sent.grpc()
	c.headers = Headers{"host": c.authority, "x-forwarded-proto": "http", "x-request-id": requestID}
	maps.Copy(c.headers, c.sent)
	return c
}

// authority is what the client calls the server: the URL decides where the
// request goes, a Host header only what it says there, and in CONNECT of HTTP/1 not
// even that.
func authority(q Request, a *address) string {
	if q.Method == http.MethodConnect && q.Version != "2" {
		return a.authority
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		if strings.EqualFold(strings.TrimSpace(name), "host") {
			return q.Headers[name]
		}
	}
	return a.authority
}

// untouched is a request that no proxy reads; nil for a bare connection.
func untouched(q Request, a *address) *Forwarded {
	if q.bare() {
		return nil
	}
	f := &Forwarded{Method: q.Method, Authority: authority(q, a), Path: a.path + a.query, Headers: Headers{}}
	for name, v := range q.Headers {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "host" {
			f.Headers[name] = v
		}
	}
	return f
}

// respond is an answer of the proxy's own. To a gRPC client it goes as a status
// of gRPC.
func (c *call) respond(status uint32) Branch {
	b := Branch{Probability: 1, Outcome: Respond, Status: status}
	if c.grpc {
		s := grpcStatus(status)
		b.GRPCStatus = &s
	}
	return b
}

func grpcStatus(status uint32) uint32 {
	switch status {
	case http.StatusBadRequest:
		return 13 // internal
	case http.StatusUnauthorized:
		return 16 // unauthenticated
	case http.StatusForbidden:
		return 7 // permission denied
	case http.StatusNotFound:
		return 12 // unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 14 // unavailable
	}
	return 2 // unknown
}

// settle makes an answer of what would be forwarded where nobody can take it.
func (b *Branch) settle(c *call) {
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
	own := c.respond(status)
	b.Outcome, b.Status, b.GRPCStatus, b.Forwarded = own.Outcome, own.Status, own.GRPCStatus, nil
}

// PolicyViews shows policies with who set each of their fields, where a protocol is spoken.
func PolicyViews(list resolve.Policies, spoken api.Protocol) map[string]Policy {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]Policy, len(list))
	for _, e := range list {
		p := Policy{Conf: e.Conf, Why: make(map[string][]Said, len(e.Fields))}
		for _, f := range e.Fields {
			said := make([]Said, len(f.Said))
			for i, s := range f.Said {
				said[i] = Said{Value: s.Value, Origin: s.Origin, Layer: s.Layer.String(), Override: s.Override, Lost: s.Lost.String()}
			}
			path := e.Kind.Schema.Leaves[f.Field].Path
			p.Why[path] = said
			if !e.Acts(f.Field, spoken) {
				p.Idle = append(p.Idle, path)
			}
		}
		out[e.Kind.Name] = p
	}
	return out
}

// answersItself says why nothing of a policy on attempts acts on a route.
const answersItself = "where nothing is forwarded"

// RoutePolicies shows the policies of a route. Where the proxy answers by itself
// nothing is attempted, so retries and timeouts are idle.
func RoutePolicies(rt *resolve.Route, spoken api.Protocol) map[string]Policy {
	views := PolicyViews(rt.Policies, spoken)
	if forwards(rt) {
		return views
	}
	for _, e := range rt.Policies {
		_, retries := e.Conf.(Retrier)
		_, times := e.Conf.(Timer)
		if !retries && !times {
			continue
		}
		p := views[e.Kind.Name]
		p.Idle, p.IdleReason = nil, answersItself
		for _, f := range e.Fields {
			p.Idle = append(p.Idle, e.Kind.Schema.Leaves[f.Field].Path)
		}
		views[e.Kind.Name] = p
	}
	return views
}
