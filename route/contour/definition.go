package contour

import "github.com/weftmesh/weft/api"

// bundle is the name by which `weft install crds --with` prints the definitions.
const bundle = "httpproxy"

// proxyDefinition is a superset of what Contour publishes: it has the design's fields
// too, and bounds nothing that Contour does not.
var proxyDefinition = &api.Definition{
	With: bundle, Short: []string{"proxy", "proxies"}, Longer: true, Status: definedStatus{},
	Columns: []api.Column{
		{Name: "FQDN", Type: "string", Path: ".spec.virtualhost.fqdn"},
		{Name: "TLS Secret", Type: "string", Path: ".spec.virtualhost.tls.secretName"},
		{Name: "Status", Type: "string", Path: ".status.currentStatus"},
		{Name: "Status Description", Type: "string", Path: ".status.description"},
	},
}

var delegationDefinition = &api.Definition{With: bundle, Short: []string{"tlscerts"}, Longer: true, Status: definedStatus{}}

// definedStatus is Status in a cluster, with the fields that others write.
type definedStatus struct {
	CurrentStatus string             `json:"currentStatus,omitempty"`
	Description   string             `json:"description,omitempty" schema:"length=32768"`
	Conditions    []definedCondition `json:"conditions,omitempty" schema:"map=type"`
	LoadBalancer  any                `json:"loadBalancer,omitempty"`
}

// definedCondition is a condition with what Kubernetes wants of one.
type definedCondition struct {
	api.StatusCondition
	Errors   []definedSub `json:"errors,omitempty"`
	Warnings []definedSub `json:"warnings,omitempty"`
}

type definedSub struct {
	Type    string `json:"type" schema:"required"`
	Status  string `json:"status" schema:"required,enum=True|False|Unknown"`
	Reason  string `json:"reason" schema:"required"`
	Message string `json:"message" schema:"required,length=32768"`
}
