package permission

import (
	"net/http"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// Arrival is a request, or a connection, as an inbound has it, whoever sends it: the rule that takes
// it, and who decides about its caller.
type Arrival struct {
	in      *effective.Inbound // nil: nobody listens
	rule    *effective.InboundRule
	by      Decider
	request *match.Request
	refused bool // before anybody asks who calls, for how its path is spelled
}

// arrive writes the path of r as the inbound reads it.
func arrive(in *effective.Inbound, r *match.Request) Arrival {
	a := Arrival{in: in, by: DeciderOf(in), request: r}
	if r == nil {
		return a
	}
	if SpelledOnce(in) {
		if a.refused = escapedSlash(r.Path); a.refused {
			return a
		}
		r.Path = MergeSlashes(r.Path)
	}
	a.rule = in.RuleOf(r)
	if by := DeciderAt(a.rule); by != nil {
		a.by = by
	}
	return a
}

// Arrive is a request as it comes to an inbound, nil for one that is not there. What carries bytes
// has a connection in its place.
func Arrive(in *effective.Inbound, p *SampleRequest) Arrival {
	switch {
	case in == nil:
		return Arrival{}
	case in.TLS == nil:
		return Arrival{in: in}
	case !in.Protocol.HTTPLike():
		return arrive(in, nil)
	}
	return arrive(in, (&wire.Forwarded{Method: p.Method, Authority: p.Authority, Path: p.Path, Headers: p.Headers}).MatchRequest())
}

// Absent reports whether nobody listens.
func (a *Arrival) Absent() bool { return a.in == nil }

// Rule is the rule of a route that takes it and has permissions of its own; nil for none.
func (a *Arrival) Rule() *effective.InboundRule {
	if a.rule == nil || a.rule.Permission == nil {
		return nil
	}
	return a.rule
}

// Alike reports whether the same is decided of each caller.
func (a *Arrival) Alike(b *Arrival) bool {
	switch {
	case a.in == nil || b.in == nil || a.in.TLS == nil || b.in.TLS == nil:
		return (a.in == nil) == (b.in == nil) && (a.in == nil || a.in.TLS == nil && b.in.TLS == nil)
	}
	closed := func(x *Arrival) bool { return x.rule != nil && x.rule.Closed != "" }
	return a.by == b.by && a.refused == b.refused && closed(a) == closed(b) && a.in.TLS.TakesPlain() == b.in.TLS.TakesPlain()
}

// decide is what becomes of a caller that proves names, none for plaintext.
func (a *Arrival) decide(names []string) (p *Permission) {
	switch {
	case a.by != nil:
		p = a.by.Judge(&Visit{Names: names, Request: a.request})
	case len(names) == 0:
		p = &Permission{Decision: Allow, Reason: unasked}
	default:
		p = &Permission{Decision: Deny, Tier: 6, Reason: "no document lets anybody in"}
	}
	if a.rule != nil {
		p.Rules = a.rule.Rules
		if a.rule.Closed != "" && len(names) > 0 {
			p.Reason = a.rule.Closed
		}
	}
	return p
}

// LetsIn reports whether a caller that proves names gets in, none for plaintext.
func (a *Arrival) LetsIn(names []string) bool {
	switch {
	case a.in == nil:
		return false
	case a.in.TLS == nil:
		return true
	case len(names) == 0 && !a.in.TLS.TakesPlain() || a.refused:
		return false
	}
	return a.decide(names).Decision == Allow
}

// Access is what that caller may do, whatever else it asks for that the same one decides about; nil
// where nobody listens, or nobody asks who calls.
func (a *Arrival) Access(names []string) *Permission {
	switch {
	case a.in == nil || a.in.TLS == nil:
		return nil
	case len(names) == 0 && !a.in.TLS.TakesPlain():
		return &Permission{Decision: Deny, Reason: onlyTLS}
	case a.by == nil:
		return a.decide(names)
	}
	p := *a.by.Access(names, a.request != nil)
	if a.rule != nil && a.rule.Closed != "" && len(names) > 0 {
		p.Reason = a.rule.Closed
	}
	return &p
}

// onlyTLS is why a caller in plaintext is denied.
const onlyTLS = "the inbound takes mutual TLS alone, and the caller speaks plaintext"

// Decide is what the sidecar of an inbound of a mesh with identities decides about what comes to it,
// by whatever way; status is that of an answer without a decision, 0 for none.
func Decide(in *effective.Inbound, v *Visit) (p *Permission, status uint32) {
	if len(v.Names) == 0 && !in.TLS.TakesPlain() {
		return &Permission{Decision: Deny, Reason: onlyTLS}, 0
	}
	a := arrive(in, v.Request)
	if a.refused {
		return nil, http.StatusBadRequest
	}
	p = a.decide(v.Names)
	p.identify(v.Names)
	return p, 0
}
