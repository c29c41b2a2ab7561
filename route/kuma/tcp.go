package kuma

import (
	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// TCPRoute is the spec of a MeshTCPRoute: where connections to destinations go (spec/kuma.md 2.4).
type TCPRoute struct {
	TargetRef *api.TargetRef `json:"targetRef,omitempty"` // nil is Mesh
	To        []TCPTo        `json:"to,omitempty" schema:"items=16"`
}

// TCPTo is what the route says for one destination.
type TCPTo struct {
	TargetRef api.TargetRef `json:"targetRef"`
	Rules     []TCPRule     `json:"rules,omitempty" schema:"most=1"` // at most one: connections cannot be told apart
}

func (t TCPTo) destination() api.TargetRef { return t.TargetRef }

// TCPRule says where connections go.
type TCPRule struct {
	Default TCPDefault `json:"default" schema:"required"`
}

// TCPDefault is what happens to connections.
type TCPDefault struct {
	BackendRefs []BackendRef `json:"backendRefs,omitzero" schema:"required,least=1,items=32"`
}

// Top is the top-level targetRef, Mesh where it is left out.
func (r *TCPRoute) Top() api.TargetRef { return topOf(r.TargetRef) }

// RoleIn is the role of a route of namespace home.
func (r *TCPRoute) RoleIn(home api.Home) string { return api.RoleOf(home, r.Top(), targets(r.To)) }

// Default makes the default weights part of the object.
func (r *TCPRoute) Default() {
	for i := range r.To {
		for j := range r.To[i].Rules {
			defaultWeights(r.To[i].Rules[j].Default.BackendRefs)
		}
	}
}

// Validate checks a MeshTCPRoute.
func (r *TCPRoute) Validate(at api.Path) error {
	var errs *multierror.Error
	if len(r.To) == 0 {
		errs = multierror.Append(errs, at.Field("to").Warns(api.CodeNoEffect, "the route says nothing; write to, with the destination and its rule"))
	}
	for i := range r.To {
		errs = multierror.Append(errs, validateTCPRules(at.Field("to").Index(i).Field("rules"), r.To[i].Rules))
	}
	return errs.ErrorOrNil()
}

func validateTCPRules(at api.Path, rules []TCPRule) error {
	var errs *multierror.Error
	switch n := len(rules); {
	case n == 0:
		errs = multierror.Append(errs, at.Warns(api.CodeNoEffect, "there is no rule, so this entry says nothing; write one"))
	case n > 1:
		errs = multierror.Append(errs, at.Breaks("there are %d rules, but connections cannot be told apart; write one", n))
	}
	for j := range rules {
		refs := at.Index(j).Field("default").Field("backendRefs")
		if len(rules[j].Default.BackendRefs) == 0 {
			errs = multierror.Append(errs, refs.Breaks("the rule sends connections nowhere; write at least one backend"))
		}
		for b := range rules[j].Default.BackendRefs {
			errs = multierror.Append(errs, rules[j].Default.BackendRefs[b].validate(refs.Index(b)))
		}
	}
	return errs.ErrorOrNil()
}

// ValidateObject checks the refs, of which kinds depends on what kinds there are.
func (r *TCPRoute) ValidateObject(o *api.Object, c *api.Catalog, at api.Path) error {
	all := refs{top: r.TargetRef, to: targets(r.To)}
	for i := range r.To {
		rules := at.Field("to").Index(i).Field("rules")
		for j := range r.To[i].Rules {
			all.list(rules.Index(j).Field("default").Field("backendRefs"), r.To[i].Rules[j].Default.BackendRefs)
		}
	}
	return all.validate(o, c, at)
}

func readTCP(o *api.Object, spec *TCPRoute) *route.ParsedRoute {
	out := parsed(o, spec)
	out.Connections = true
	for i := range spec.To {
		entry := route.Entry{To: spec.To[i].TargetRef, Index: i, Field: api.Path("spec.to").Index(i).Field("targetRef")}
		at := api.Path("spec.to").Index(i).Field("rules")
		for j := range spec.To[i].Rules {
			rule := route.Rule{Origin: &api.Origin{Ref: o.Ref, To: &i, Rule: &j, Field: at.Index(j)}}
			rule.Backends = backends(o, spec.To[i].Rules[j].Default.BackendRefs, at.Index(j).Field("default").Field("backendRefs"))
			rule.Unserved = route.Unserved(rule.Backends, route.EachClosed)
			entry.Rules = append(entry.Rules, rule)
		}
		out.Entries = append(out.Entries, entry)
	}
	return out
}

// composeTCP lets the strongest object's list hold as a whole (spec/kuma.md 2.4).
func composeTCP(candidates []route.Candidate) route.Composition {
	out := &route.MergedRule{Do: route.Passthrough{}}
	for _, c := range candidates {
		for i := range c.Rules {
			r := &c.Rules[i]
			out.Origins, out.ActionBy, out.Do = append(out.Origins, r.Origin), r.Origin, &route.Forward{Backends: r.Backends}
		}
	}
	return route.Composition{Connections: out}
}
