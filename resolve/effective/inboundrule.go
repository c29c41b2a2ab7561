package effective

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
)

// InboundRule is what holds of the requests that a rule of a route sends to the workload, as
// they arrive, be it by another way. The first of an inbound that a request matches holds.
type InboundRule struct {
	Match match.Match
	Rules []*api.Origin // of routes, weakest first
	// Permission stands in the place of what is said of all requests; nil where it holds for
	// these too. Where the requests of several rules with permissions arrive alike, it lets in whom
	// all of them let in.
	Permission *policies.Effective
	// Closed says why nobody gets in; empty where Permission says who does.
	Closed string
}

// Over is what holds of the requests of the rule, where p holds of all.
func (r *InboundRule) Over(p Policies) Policies {
	if r == nil || r.Permission == nil {
		return p
	}
	out := slices.DeleteFunc(slices.Clone(p), func(e *policies.Effective) bool { return e.Kind == r.Permission.Kind })
	return append(out, r.Permission)
}

// Alike reports whether both rules hold of the same requests, and the same is decided of their
// callers.
func (r *InboundRule) Alike(o *InboundRule) bool {
	return r.Closed == o.Closed && (r.Closed != "" || r.Permission == o.Permission) && slices.EqualFunc(r.Match.Conditions, o.Match.Conditions, match.Condition.Equal)
}
