package lookup

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// Found is what a request comes to: several things where chance decides.
type Found struct {
	Address   *wire.URL
	Call      *wire.NormalizedRequest
	Outbound  *effective.Outbound
	Ends      []*Branch
	Missed    []Miss
	Unknown   []string
	Forwarded *wire.Forwarded // of a request that the proxy reads and lets pass
	Closed    bool            // the connection is closed before a request comes
	// serverName is the name that the client asks for in TLS, Chain that of the chain to
	// which it comes for it.
	serverName, Chain string
	// Connections is where Outbound sends whole connections; nil where it closes them, or
	// tells requests apart.
	Connections *effective.TCPTable
}

// Branch is one thing that a request comes to: an answer of the proxy's own, or
// else a route; an outbound without routes; or nothing, which is passed through.
type Branch struct {
	*Found
	Route  *effective.Route
	Answer uint32
	Draws  wire.Draws // by which it comes to that
}

// Find says where the URL of q leads from r, and what the proxy makes of q on the way. Nothing is
// wrong with q by itself: sim.Check has looked at it.
func Find(w Reader, r *effective.Resolved, q wire.Request) (*Found, error) {
	if q.Method == "" && !q.Connection() {
		q.Method = http.MethodGet
	}
	a, _ := wire.ReadURL(q.URL)
	f := &Found{Address: &a, Call: wire.CallOf(q, &a), Outbound: findOutbound(w, r, &a)}
	f.serverName, _ = q.ServerName(&a)
	if spec(r).Edge() {
		e, err := edgeAt(r, &a)
		if err != nil {
			return nil, err
		}
		f.Call.FromOutside(a.Scheme)
		switch {
		case e.Connections:
			f.sendOn(f.Outbound)
			return f, nil
		case a.Scheme == wire.HTTPSScheme || a.Scheme == wire.TCPScheme:
			return f, f.atTLS(r, e, &q)
		}
	}
	if f.Outbound == nil && !spec(r).Edge() && a.Port != 0 {
		if err := notReached(w, r, &a); err != nil {
			return nil, err
		}
		f.Outbound = caught(r, &a)
	}
	if o := f.Outbound; o != nil && o.ToHost() {
		f.Call.KeepsPath = !f.Call.Outside
		if o.Passthrough && (q.Version == "1.0" || a.Scheme != "http") {
			f.Outbound = nil // it is not looked into
		} else if f.Outbound = askedHost(r, o, f.Call.Authority); f.Outbound == nil {
			return f, f.noHost(o, &q)
		}
	}
	answer := uint32(0)
	switch o := f.Outbound; {
	case o == nil && spec(r).Edge():
		answer = http.StatusNotFound
	case o == nil && a.Port == 0:
		return nil, fmt.Errorf("url: tcp:// stands for no port; write one, as tcp://%s:5432", a.Authority)
	case o == nil:
	case o.Table == nil:
		f.Connections = f.asked(o)
	case a.Scheme == wire.TCPScheme:
		return nil, fmt.Errorf("url: %s looks for requests, which decide where they go; ask for one, as http://%s", o.Destination.ID, a.Authority)
	case a.Scheme == wire.HTTPSScheme:
		return nil, fmt.Errorf("url: %s is called over plain HTTP inside the mesh; write http://%s", o.Destination.ID, a.Authority)
	default:
		return f, f.requests(o, &q)
	}
	f.end(nil, answer, wire.AnyDraw[0])
	return f, nil
}

// requests finds what a request comes to at o, where requests are told apart.
func (f *Found) requests(o *effective.Outbound, q *wire.Request) error {
	f.Call.AnyMethod = o.ToHost()
	if o.ToHost() && q.Claims == nil { // Envoy reads them, on hosts alone
		q.Claims = wire.TokenClaims(strings.Join(f.Call.Headers.Values("authorization"), ","))
		f.Call.Claims = q.Claims
	}
	return f.look(o.Table, q)
}

// end notes what becomes of the draws of a span.
func (f *Found) end(rt *effective.Route, answer uint32, s wire.Span) {
	for _, l := range f.Ends {
		if l.Route == rt && l.Answer == answer {
			l.Draws = l.Draws.And(s)
			return
		}
	}
	f.Ends = append(f.Ends, &Branch{Found: f, Route: rt, Answer: answer, Draws: wire.Draws{s}})
}

// look finds the first route that matches, for every draw. The error says why there is no
// answer at all.
func (f *Found) look(t *effective.Table, q *wire.Request) error {
	c := f.Call
	answer, err := f.receive(q)
	if err != nil {
		return err
	}
	if answer != 0 {
		f.end(nil, answer, wire.AnyDraw[0])
		return nil
	}
	missed := map[*effective.Route]string{}
	for _, s := range q.Draws().Cut(t.Routes) {
		switch rt := f.first(t, q, s.From, missed); {
		case rt == nil:
			f.end(nil, http.StatusNotFound, s)
		case c.Upgrade == wire.UnknownUpgrade:
			f.end(nil, http.StatusForbidden, s)
		default:
			f.end(rt, 0, s)
		}
	}
	for _, rt := range t.Routes {
		reason, ok := missed[rt]
		if ok && !slices.ContainsFunc(f.Ends, func(l *Branch) bool { return l.Route == rt }) {
			f.Missed = append(f.Missed, Miss{Key: rt.Key, Origins: rt.Origins, Reason: reason})
		}
	}
	return nil
}

// receive is what the proxy answers to a request before it looks for a route, 0 where it looks.
// The error says why there is no answer at all.
func (f *Found) receive(q *wire.Request) (answer uint32, err error) {
	answer, unknown, err := f.Call.HeadRefusal(q, f.Address)
	if err != nil {
		return 0, err
	}
	if unknown != "" {
		f.Unknown = append(f.Unknown, unknown)
	}
	if answer == 0 {
		answer = f.Call.Unread(q)
	}
	return answer, nil
}

// first is the first route of t that matches with a draw; nil where none does. Why
// those before it do not is missed, said for the first draw that comes to them.
func (f *Found) first(t *effective.Table, q *wire.Request, draw int64, missed map[*effective.Route]string) *effective.Route {
	asked := f.Call.MatchRequest()
	asked.Draw = draw
	for _, rt := range t.Routes {
		reason := "a CONNECT request has no path to match"
		if f.Call.Method != http.MethodConnect {
			reason = whyNot(rt.Match.Conditions, asked, q)
		}
		if reason == "" {
			return rt
		}
		if _, known := missed[rt]; !known {
			missed[rt] = reason
		}
		if f.Call.Method != http.MethodConnect {
			f.askedOfToken(rt, asked, q)
		}
	}
	return nil
}

// whyNot is why a request does not match. Of a draw that nobody gave it is no reason
// which one it is, but that those before take all that would fit.
func whyNot(cs match.Conditions, asked *match.Request, q *wire.Request) string {
	reason := cs.WhyNot(asked)
	if reason == "" || q.Draw != nil {
		return reason
	}
	for i := range cs {
		if cs[i].On == match.OnChance {
			continue
		}
		if reason := cs[i].WhyNot(asked); reason != "" {
			return reason
		}
	}
	for i := range cs {
		if c := &cs[i]; c.On == match.OnChance && !c.Holds(asked) {
			return fmt.Sprintf("chance: routes before it take every draw from %d until %d", c.From, c.Until)
		}
	}
	return reason
}

// askedOfToken notes that rt would take the request if its token had the claims that
// rt asks for: nobody said what claims it has.
func (f *Found) askedOfToken(rt *effective.Route, asked *match.Request, q *wire.Request) {
	if q.Claims != nil || len(f.Call.Headers.Values("authorization")) == 0 {
		return
	}
	var claims, others match.Conditions
	for _, c := range rt.Match.Conditions {
		if c.On == match.OnClaim {
			claims = append(claims, c)
		} else {
			others = append(others, c)
		}
	}
	if len(claims) == 0 || !others.Holds(asked) {
		return
	}
	text := fmt.Sprintf("claims: those of the token are not given; where %s, %s takes the request", claims.Text(), rt.Name)
	if !slices.Contains(f.Unknown, text) {
		f.Unknown = append(f.Unknown, text)
	}
}

// Reader is what Run asks of a world; *resolve.Model is one.
type Reader interface {
	Dataplane(api.Ref) (*effective.Resolved, bool)
	Destinations(mesh string) iter.Seq[*effective.Destination]
	NamesFor(from api.Ref, d *effective.Destination, name string) bool
}

// IsRead reports whether a proxy reads the request.
func (f *Found) IsRead() bool {
	return f.Ends[0].Answer != 0 || f.Forwarded != nil || f.Outbound != nil && f.Outbound.Table != nil
}

// Miss is a route that the request did not match, and why.
type Miss struct {
	Key     string        `json:"key,omitempty"`
	Origins []*api.Origin `json:"origins"`
	Reason  string        `json:"reason"`
}
