package skipper

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// port is where hosts of RouteGroups are asked for.
const port = 80

// reach is how a group comes to a frontend.
type reach struct {
	copied bool // it names no hosts, and takes part wherever another group names one
}

// read says what a group means; one that needs what the settings do not give is not
// applied.
func read(o *api.Object, see route.Lister, s Settings) *route.ParsedRoute {
	out := &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}}
	p, err := planOf(o.Spec.(*RouteGroup), o, "spec")
	if err != nil { // who stores documents without asking what is wrong with them
		for _, v := range api.Violations(err) {
			out.Notes = append(out.Notes, api.Note{Origin: &api.Origin{Ref: o.Ref}, Severity: api.Error, Code: v.Code, Field: v.Field, Message: v.Message})
		}
		return out
	}
	out.Notes = p.notes
	if lacks := p.lacks(s, o.Ref); len(lacks) > 0 {
		out.Notes = append(out.Notes, lacks...)
		return out
	}
	var rules []route.Rule
	for _, r := range p.routes {
		rules = append(rules, r.rule())
	}
	for i, host := range p.hosts {
		out.Entries = append(out.Entries, route.Entry{To: route.HostRef(host, port), Index: i, Field: api.Path("spec.hosts").Index(i), Rules: rules, Payload: reach{}})
	}
	if len(p.hosts) == 0 {
		known := knownHosts(see)
		if len(known) > 0 { // and all other hosts
			out.Notes = append(slices.Clip(out.Notes), severalBuckets(o.Ref, p.routes, len(known)+1)...)
		}
		for i, host := range append(known, api.AnyHost) {
			out.Entries = append(out.Entries, route.Entry{To: route.HostRef(host, port), Index: i, Field: "spec", Rules: rules, Payload: reach{copied: host != api.AnyHost}})
		}
	}
	return out
}

// knownHosts are those that groups of the mesh name, each once.
func knownHosts(see route.Lister) []string {
	var out []string
	for _, o := range see.Objects(Kind, nil) {
		if g, ok := o.Spec.(*RouteGroup); ok && !o.Shadow() {
			for _, host := range g.Hosts {
				if see.Shares(o, host) {
					out = append(out, host)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rule is a planned route as others see it before it is composed.
func (p *planned) rule() route.Rule {
	out := route.Rule{Origin: p.origin, Mirrors: p.mirrors(), Payload: p}
	for _, x := range p.parts {
		out.Backends = append(out.Backends, x.backends...)
	}
	for _, o := range p.asks.options {
		m := slices.Concat(p.asks.all, o.conditions)
		if path, ok := p.whole(); ok {
			m = slices.Concat(match.Conditions{path}, m)
		}
		out.Matches = append(out.Matches, match.Match{Conditions: m})
	}
	return out
}

// whole is what the path of the route asks, undivided.
func (p *planned) whole() (match.Condition, bool) {
	if !p.hasPath {
		return match.Condition{}, false
	}
	if p.subtree {
		return must(p.path.subtreeCondition()), true
	}
	return must(p.path.condition()), true
}

// must is c, which readPath has tried with a longer path.
func must(c match.Condition, err error) match.Condition {
	if err != nil {
		panic(err)
	}
	return c
}
