package kuma

import (
	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
)

// TCPRoute is the spec of a MeshTCPRoute. Weft reads it and does not carry it out.
type TCPRoute struct {
	TargetRef *api.TargetRef `json:"targetRef,omitempty"`
	To        []TCPTo        `json:"to,omitempty"`
}

// TCPTo is what the route says for one destination.
type TCPTo struct {
	TargetRef api.TargetRef `json:"targetRef"`
	Rules     []TCPRule     `json:"rules,omitempty"`
}

// TCPRule says where connections go.
type TCPRule struct {
	Default TCPDefault `json:"default"`
}

// TCPDefault is what happens to connections.
type TCPDefault struct {
	BackendRefs []BackendRef `json:"backendRefs,omitzero"`
}

const unsupportedTCP = "weft does not carry out MeshTCPRoute yet: connections go to the destination itself; remove it, or use a MeshHTTPRoute for HTTP"

// Default makes the default weights part of the object.
func (r *TCPRoute) Default() {
	for i := range r.To {
		for j := range r.To[i].Rules {
			defaultWeights(r.To[i].Rules[j].Default.BackendRefs)
		}
	}
}

// Validate checks the references, and warns that nothing comes of them.
func (r *TCPRoute) Validate(at api.Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, validateTop(at, r.TargetRef))
	for i := range r.To {
		here := at.Field("to").Index(i)
		errs = multierror.Append(errs, api.ValidateTargetRef(here.Field("targetRef"), r.To[i].TargetRef, toRules(topOf(r.TargetRef))))
		if n := len(r.To[i].Rules); n > 1 {
			errs = multierror.Append(errs, here.Field("rules").Breaks("there are %d rules, but connections cannot be told apart; write one", n))
		}
		for j := range r.To[i].Rules {
			refs := here.Field("rules").Index(j).Field("default").Field("backendRefs")
			for b := range r.To[i].Rules[j].Default.BackendRefs {
				errs = multierror.Append(errs, r.To[i].Rules[j].Default.BackendRefs[b].validate(refs.Index(b)))
			}
		}
	}
	errs = multierror.Append(errs, at.Warns(api.CodeUnsupported, unsupportedTCP))
	return errs.ErrorOrNil()
}
