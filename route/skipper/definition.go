package skipper

import "github.com/weftmesh/weft/api"

// definition is a superset of what Skipper publishes: it has the fields of the draft,
// methods in any case, and conditions (spec/routegroup.md 9).
var definition = &api.Definition{
	With: "routegroup", Short: []string{"rgs"}, Longer: true, Status: definedStatus{}, Annotated: true,
	Columns: []api.Column{
		{Name: "Hosts", Type: "string", Path: ".spec.hosts"},
		{Name: "Address", Type: "string", Path: ".status.loadBalancer"},
		{Name: "Accepted", Type: "string", Path: `.status.conditions[?(@.type=="Accepted")].status`},
	},
}

// definedStatus is the status in a cluster. Others write the load balancer, and weft
// never does.
type definedStatus struct {
	ObservedGeneration int64                 `json:"observedGeneration,omitempty" schema:"min=0"`
	Conditions         []api.StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
	LoadBalancer       any                   `json:"loadBalancer,omitempty"`
}
