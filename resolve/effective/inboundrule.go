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
	// Beside is what other kinds that authorize say of these requests, who have to let them in too.
	Beside Policies
	// Closed says why nobody gets in; empty where Permission says who does.
	Closed string
}

// Permissions are what all kinds that authorize say of the requests of the rule, all of which have to
// let them in; none where that is what they say of all requests.
func (r *InboundRule) Permissions() Policies {
	if r.Permission == nil {
		return nil
	}
	return append(Policies{r.Permission}, r.Beside...)
}

// Over is what holds of the requests of the rule, where p holds of all.
func (r *InboundRule) Over(p Policies) Policies {
	if r == nil || r.Permission == nil {
		return p
	}
	own := r.Permissions()
	return append(slices.DeleteFunc(slices.Clone(p), func(e *policies.Effective) bool { return own.Of(e.Kind.Name) != nil }), own...)
}

// Alike reports whether both rules hold of the same requests, and the same is decided of their
// callers.
func (r *InboundRule) Alike(o *InboundRule) bool {
	return r.Closed == o.Closed && (r.Closed != "" || slices.Equal(r.Permissions(), o.Permissions())) && slices.EqualFunc(r.Match.Conditions, o.Match.Conditions, match.Condition.Equal)
}
