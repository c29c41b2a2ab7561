package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sim"
)

// Narrowing is what narrows an explanation to what somebody asks about; empty fields ask
// for all.
type Narrowing struct {
	Route  string // a route object, as NAME or KIND/NAME, or one of its rules, as NAME/RULE
	Kind   string // of policies
	Policy string // name of a policy of Kind
	Field  string // of effective policies, with all below it: http.requestTimeout, or http
}

func (f Narrowing) narrow() bool { return f.Kind != "" || f.Field != "" }

// Only is what an explanation says about what f asks for. That nothing is left
// is an error that names what comes near.
func (e Explanation) Only(f Narrowing) (Explanation, error) {
	if f == (Narrowing{}) {
		return e, nil
	}
	out := e
	out.Outbounds, out.Inbounds, out.Edges, out.Notes, out.NotApplied = []Outbound{}, []Inbound{}, nil, []api.Note{}, []NotApplied{}
	for _, o := range e.Outbounds {
		if o, ok := f.outbound(o); ok {
			out.Outbounds = append(out.Outbounds, o)
		}
	}
	for _, in := range e.Inbounds {
		in = f.inbound(in)
		if f.Route == "" && len(in.Policies)+len(in.Callers) > 0 {
			out.Inbounds = append(out.Inbounds, in)
		}
	}
	for _, u := range e.NotApplied {
		if f.Kind != "" && strings.HasPrefix(u.Object, f.Kind+"/") && (f.Policy == "" || strings.HasSuffix(u.Object, "/"+f.Policy)) {
			out.NotApplied = append(out.NotApplied, u)
		}
	}
	out.OutboundsTotal, out.NotAppliedTotal = len(out.Outbounds), len(out.NotApplied)
	for _, n := range e.Notes {
		if n.Origin != nil && n.Origin.Kind == f.Kind && (f.Policy == "" || n.Origin.Name == f.Policy) {
			out.Notes = append(out.Notes, n)
		}
	}
	if out.Policies = nil; f.Route == "" {
		out.Policies = f.policies(e.Policies)
	}
	if len(out.Outbounds)+len(out.Inbounds)+len(out.Policies)+len(out.NotApplied)+len(out.Notes) == 0 {
		return out, f.missed(e)
	}
	return out, nil
}

func (f Narrowing) inbound(in Inbound) Inbound {
	in.Policies = f.policies(in.Policies)
	all := in.Callers
	in.Callers = nil
	for _, c := range all {
		if c.Policies = f.policies(c.Policies); len(c.Policies) > 0 {
			in.Callers = append(in.Callers, c)
		}
	}
	return in
}

func (f Narrowing) outbound(o Outbound) (Outbound, bool) {
	routes := o.Routes
	o.Routes, o.Policies = []Route{}, f.policies(o.Policies)
	for _, r := range routes {
		if f.Route != "" && !slices.ContainsFunc(r.Origins, f.named) {
			continue
		}
		if f.narrow() {
			r.Policies, r.Filters, r.Backends, r.Mirrors, r.Hash = f.policies(r.Policies), nil, []sim.Backend{}, nil, ""
			if len(r.Policies) == 0 {
				continue
			}
		}
		o.Routes = append(o.Routes, r)
	}
	return o, len(o.Routes) > 0 || len(routes) == 0 && f.Route == "" && len(o.Policies) > 0
}

// named reports whether a rule is one that Route asks for.
func (f Narrowing) named(o *api.Origin) bool {
	return f.Route == o.Name || f.Route == o.Kind+"/"+o.Name || o.RuleName != "" && f.Route == o.Name+"/"+o.RuleName
}

// replaced are those of the fields in whose place others stand.
func (f Narrowing) replaced(all map[string]sim.ReplacedField) map[string]sim.ReplacedField {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(field string, x sim.ReplacedField) bool { return f.leaves(field, x.Said) })
	return out
}

// leaves reports whether it is not about a field.
func (f Narrowing) leaves(field string, said []sim.Opinion) bool {
	return f.Field != "" && field != f.Field && !strings.HasPrefix(field, f.Field+".") || f.Policy != "" && !slices.ContainsFunc(said, f.says)
}

func (f Narrowing) policies(all map[string]sim.Policy) map[string]sim.Policy {
	out := map[string]sim.Policy{}
	for kind, p := range all {
		why := maps.Clone(p.Why)
		maps.DeleteFunc(why, f.leaves)
		if len(why)+len(f.replaced(p.Replaced)) > 0 && (f.Kind == "" || kind == f.Kind) {
			p.Why, p.Replaced = why, f.replaced(p.Replaced)
			out[kind] = p
		}
	}
	return out
}

func (f Narrowing) says(s sim.Opinion) bool { return s.Origin != nil && s.Origin.Name == f.Policy }

// missed says that nothing is left of e.
func (f Narrowing) missed(e Explanation) error {
	fields, routes := map[string]bool{}, map[string]bool{}
	see := func(all map[string]sim.Policy) {
		for kind, p := range all {
			for field := range p.Why {
				if f.Kind == "" || kind == f.Kind {
					fields[field] = true
				}
			}
		}
	}
	see(e.Policies)
	for _, o := range e.Outbounds {
		see(o.Policies)
		for _, r := range o.Routes {
			see(r.Policies)
			for _, origin := range r.Origins {
				routes[origin.Name] = true
			}
		}
	}
	for _, in := range e.Inbounds {
		see(in.Policies)
		for _, c := range in.Callers {
			see(c.Policies)
		}
	}
	if f.Route != "" && !slices.ContainsFunc(slices.Sorted(maps.Keys(routes)), func(name string) bool {
		return f.Route == name || strings.HasSuffix(f.Route, "/"+name) || strings.HasPrefix(f.Route, name+"/")
	}) {
		return inspect.NotFound("route on "+e.Dataplane, f.Route, slices.Sorted(maps.Keys(routes)))
	}
	if f.Field != "" {
		return inspect.NotFound("field with a value on "+e.Dataplane, f.Field, slices.Sorted(maps.Keys(fields)))
	}
	what := f.Kind
	if f.Policy != "" {
		what += "/" + f.Policy
	}
	if what == "" {
		what = "route " + f.Route
	}
	return fmt.Errorf("%w: nothing of %s applies to what is asked about on %s", inspect.ErrNotFound, what, e.Dataplane)
}
