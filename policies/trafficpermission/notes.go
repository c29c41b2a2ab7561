package trafficpermission

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// AtConnections is what there is to say of entries where nobody reads requests (spec/identity.md
// 4.6): those that ask something of requests hold of none, and where names alone do not decide, the
// handshake lets all in until the caller has sent something.
func (authorizer) AtConnections(e *policies.Effective) []api.Note {
	p := Of(e)
	if p == nil {
		return nil
	}
	var out []api.Note
	add := func(x *Entry, severity api.Severity, code, message string) {
		out = append(out, api.Note{Origin: x.Origin, Severity: severity, Code: code, Field: x.Field(), Message: message})
	}
	for _, x := range p.Deny {
		if len(x.holds.http) > 0 {
			add(x, api.Error, "RequestsNotRead", "some inbounds that it is about carry bytes, in which nobody reads requests, so that it denies nobody there; deny callers by their names")
		}
	}
	for _, x := range p.Allow {
		if len(x.holds.http) > 0 {
			add(x, api.Warning, "RequestsNotRead", "some inbounds that it is about carry bytes, in which nobody reads requests, so that it lets nobody in there; allow callers by their names")
		}
	}
	if _, known := p.callers(); known {
		return out
	}
	const greeting = "at inbounds that carry bytes the handshake cannot decide it, so that a caller who is denied hears what a workload says that speaks first; say who may by names alone, without a deny"
	of := view{proved: true}
	for _, x := range p.Deny {
		if of.possible(&x.holds) {
			add(x, api.Warning, "GreetingBeforeCheck", greeting)
		}
	}
	for _, x := range p.Allow {
		if c := &x.holds; of.possible(c) && (len(c.names) != 1 || c.sni != "" || len(c.unless) > 0) {
			add(x, api.Warning, "GreetingBeforeCheck", greeting)
		}
	}
	return out
}
