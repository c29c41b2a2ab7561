package inspect

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
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
}

// CallerPolicies is what holds of the requests of some callers.
type CallerPolicies struct {
	SpiffeID policies.ValueMatch   `json:"spiffeID"`
	Policies map[string]sim.Policy `json:"policies"`
}

func inbound(in *resolve.Inbound) Inbound {
	out := Inbound{Name: in.Name, Address: in.Address, Port: in.Port, Protocol: in.Protocol, Policies: policyViews(in.Policies, in.Protocol), TLS: inboundTLS(in.TLS)}
	for _, c := range in.Callers {
		out.Callers = append(out.Callers, CallerPolicies{SpiffeID: c.Match(), Policies: policyViews(c.Policies, in.Protocol)})
	}
	return out
}
