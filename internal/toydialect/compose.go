package toydialect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// said is what a rule means where it stands.
type said struct {
	path    string // with the prefixes of the includes
	do      route.Action
	upgrade route.Upgrade
	inline  []route.Inline
	via     []*api.Origin
	missing bool // it stands for an include that leads nowhere
}

// reader flattens one object with all that it includes.
type reader struct {
	see   route.Lister
	rules []route.Rule
	notes []api.Note
}

func read(o *api.Object, see route.Lister) *route.ParsedRoute {
	spec := o.Spec.(*Route)
	x := reader{see: see}
	x.object(o, "", nil)
	out := &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}, Notes: x.notes}
	for i, host := range spec.Hosts {
		out.Entries = append(out.Entries, route.Entry{To: route.HostRef(host, cmp.Or(spec.Port, 80)), Index: i,
			Field: api.Path("spec.hosts").Index(i), Rules: x.rules, Payload: limit(o)})
	}
	if len(spec.Hosts) == 0 {
		out.Entries = []route.Entry{{Rules: x.rules}}
	}
	return out
}

// limit is what an object says for each of its hosts as a whole.
func limit(o *api.Object) []route.Inline {
	l := o.Spec.(*Route).Limit
	if l == nil {
		return nil
	}
	return []route.Inline{{Policy: &route.RateLimit{Rate: &route.Rate{Requests: l.Requests, Interval: l.In}},
		Origin: &api.Origin{Ref: o.Ref, Field: "spec.limit"}}}
}

// object adds the rules of o below prefix, its own first; via are the objects
// that lead to it.
func (x *reader) object(o *api.Object, prefix string, via []*api.Origin) {
	spec := o.Spec.(*Route)
	for i := range spec.Rules {
		x.rule(o, i, prefix, via)
	}
	for i := range spec.Includes {
		x.include(o, i, prefix, via)
	}
}

func (x *reader) rule(o *api.Object, i int, prefix string, via []*api.Origin) {
	r := &o.Spec.(*Route).Rules[i]
	at := api.Path("spec.rules").Index(i)
	origin := &api.Origin{Ref: o.Ref, Rule: &i, RuleName: r.Name, Field: at}
	s := &said{path: below(prefix, r.Path), via: via}
	out := route.Rule{Origin: origin, Payload: s}
	if r.Answer != nil {
		s.do = &route.Respond{Status: r.Answer.Status, Body: r.Answer.Body}
	} else {
		out.Backends = backends(o, r.To, at.Field("to"))
		s.do = &route.Forward{Backends: out.Backends, NoBackend: route.Respond{Status: 503}}
	}
	if r.WebSockets != nil {
		s.upgrade = map[bool]route.Upgrade{true: route.UpgradeOn, false: route.UpgradeOff}[*r.WebSockets]
	}
	if r.Timeout != nil {
		field := *origin
		field.Field = at.Field("timeout")
		s.inline = []route.Inline{{Policy: &route.Timeouts{Request: r.Timeout}, Origin: &field}}
	}
	x.add(out, s)
}

// include adds the rules of another object, or the answer of one that is not there.
func (x *reader) include(o *api.Object, i int, prefix string, via []*api.Origin) {
	inc := &o.Spec.(*Route).Includes[i]
	origin := &api.Origin{Ref: o.Ref, Field: api.Path("spec.includes").Index(i)}
	prefix = below(prefix, inc.Prefix)
	ref := api.Ref{Kind: Kind, Mesh: o.Mesh, Namespace: o.Namespace, Name: inc.Name}
	child, ok := x.see.Object(ref)
	cycle := ref == o.Ref || slices.ContainsFunc(via, func(v *api.Origin) bool { return v.Ref == ref })
	if ok && !cycle {
		x.object(child, prefix, append(slices.Clone(via), origin))
		return
	}
	code, text := "IncludeNotFound", fmt.Sprintf("there is no %s %s; create it", Kind, inc.Name)
	if cycle {
		code, text = "IncludeCycle", fmt.Sprintf("%s includes itself; leave one of the includes out", inc.Name)
	}
	x.notes = append(x.notes, api.Note{Origin: origin, Severity: api.Error, Code: code, Field: origin.Field, Message: text})
	x.add(route.Rule{Origin: origin}, &said{path: prefix, do: &route.Respond{Status: 502}, missing: true})
}

func (x *reader) add(r route.Rule, s *said) {
	m, err := matchBelow("", s.path)
	if err != nil {
		panic(err) // Validate has looked at all parts
	}
	r.Matches, r.Payload = []match.Match{m}, s
	x.rules = append(x.rules, r)
}

func below(prefix, path string) string { return strings.TrimSuffix(prefix, "/") + path }

func backends(o *api.Object, list []Service, at api.Path) []route.BackendRef {
	out := make([]route.BackendRef, len(list))
	for i, s := range list {
		out[i] = route.BackendRef{Target: api.TargetRef{Kind: api.KindMeshService, Name: s.Service}, Home: o.Home(),
			Port: s.Port, Weight: cmp.Or(s.Weight, 1), Broken: 503, Field: at.Index(i)}
		for _, name := range slices.Sorted(maps.Keys(s.Set)) {
			out[i].Filters = append(out[i].Filters, route.Filter{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: name, Value: s.Set[name]}}}})
		}
	}
	return out
}

// notFound is the answer to what nothing matches.
var notFound = &route.MergedRule{Key: "toy-none", Name: "toy-none", Do: &route.Respond{Status: 404}, NoPolicies: true}

// compose lets the first rule of each path win, objects by name; the longest path
// is tried first.
func compose(_ route.Frontend, candidates []route.Candidate) route.Composition {
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b route.Candidate) int { return a.Object.Ref.Compare(b.Object.Ref) })
	var written []*route.Rule
	var whole []route.Inline
	for _, c := range candidates {
		if says, ok := c.Payload.([]route.Inline); ok {
			whole = append(says, whole...) // the first is the strongest
		}
		for i := range c.Rules {
			written = append(written, &c.Rules[i])
		}
	}
	var rules []*route.MergedRule
	for _, won := range merge.FirstWins(written, func(r **route.Rule) string { return (*r).Payload.(*said).path }) {
		s := won.Item.Payload.(*said)
		name := "toy " + s.path
		out := &route.MergedRule{Key: name, Name: name, Matches: won.Item.Matches, Do: s.do, Upgrade: s.upgrade, Origins: []*api.Origin{won.Item.Origin},
			ActionBy: won.Item.Origin, IncludedBy: s.via, Inline: s.inline, NoPolicies: s.missing}
		for _, lost := range won.Over {
			out.Superseded = append(out.Superseded, lost.Origin)
		}
		rules = append(rules, out)
	}
	longest := func(a, b *match.Match) int { return cmp.Compare(len(b.Path().Value), len(a.Path().Value)) }
	out := route.Composition{Rows: route.Ordered(rules, longest), Inline: whole}
	if !slices.ContainsFunc(out.Rows, func(r route.Row) bool { return r.Match.Everything() }) {
		out.Default = notFound
	}
	return out
}
