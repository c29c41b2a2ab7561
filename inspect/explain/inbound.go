package explain

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/permission"
)

// Inbound is one port of the workload.
type Inbound struct {
	Name     string                `json:"name"`
	Address  string                `json:"address"`
	Port     uint32                `json:"port"`
	Protocol api.Protocol          `json:"protocol"`
	Policies map[string]sim.Policy `json:"policies"`
	// Callers are those of whom other policies hold, told apart by what their certificates
	// prove: the first that has a caller says all that holds of it.
	Callers []CallerPolicies `json:"callers,omitempty"`
	// TLS is how it takes mutual TLS; absent where it takes plain text alone.
	TLS *InboundTLS `json:"tls,omitempty"`
	// Routes are what the inbound tells apart of requests, as they arrive, by who may call: the
	// first that a request matches holds. Absent where nobody says who may.
	Routes []InboundRoute `json:"routes,omitempty"`
}

// InboundRoute is who may send the requests of one rule of a route, or the last those of none.
type InboundRoute struct {
	Match string `json:"match"` // what it takes, in words
	// Rules are those of routes, weakest first; none for what none takes.
	Rules []*api.Origin `json:"rules,omitempty"`
	// Closed says why nobody gets in by it.
	Closed      string                      `json:"closed,omitempty"`
	Permissions *permission.PermissionLists `json:"permissions,omitempty"`
}

// CallerPolicies is what holds of the requests of some callers.
type CallerPolicies struct {
	SpiffeID policies.ValueMatch   `json:"spiffeID"`
	Policies map[string]sim.Policy `json:"policies"`
}

func inbound(in *effective.Inbound) Inbound {
	out := Inbound{Name: in.Name, Address: in.Address, Port: in.Port, Protocol: in.Protocol, Policies: policyViews(in.Policies, in.Protocol), TLS: inboundTLS(in.TLS)}
	out.Routes = inboundRoutes(in)
	for _, c := range in.Callers {
		out.Callers = append(out.Callers, CallerPolicies{SpiffeID: c.Match(), Policies: policyViews(c.Policies, in.Protocol)})
	}
	return out
}

// inboundRoutes is nil where nobody says who may call.
func inboundRoutes(in *effective.Inbound) []InboundRoute {
	all := permission.DeciderOf(in)
	if all == nil && len(in.Rules) == 0 {
		return nil
	}
	lists := func(j permission.Decider) *permission.PermissionLists {
		if j == nil {
			return nil
		}
		return j.Lists()
	}
	var out []InboundRoute
	for i := range in.Rules {
		r := &in.Rules[i]
		x := InboundRoute{Match: r.Match.Short(), Rules: r.Rules, Closed: r.Closed, Permissions: lists(all)}
		if j := permission.DeciderAt(r); j != nil {
			x.Permissions = lists(j)
		}
		if r.Closed != "" {
			x.Permissions = nil
		}
		out = append(out, x)
	}
	return append(out, InboundRoute{Match: match.CatchAll.Short(), Permissions: lists(all)})
}
