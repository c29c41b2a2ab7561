package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// rule is a rule of either kind of route.
type rule struct {
	name     *gatewayv1.SectionName
	matches  []lazyMatch
	filters  []gatewayv1.HTTPRouteFilter
	backends []gatewayv1.HTTPBackendRef
	timeouts *gatewayv1.HTTPRouteTimeouts
	retry    *gatewayv1.HTTPRouteRetry
	sticky   *gatewayv1.SessionPersistence
}

// lazyMatch is one alternative of a rule in the route model, or what is wrong with it.
type lazyMatch func() (match.Conditions, error)

// said is what a rule means.
type said struct {
	filters  []route.Filter
	redirect *gatewayv1.HTTPRequestRedirectFilter
	backends []route.BackendRef
	closed   bool // its requests are answered with an error: it cannot be carried out
	broken   uint32
	inline   []route.Inline
	key      string
}

// reader reads one object.
type reader struct {
	object *api.Object
	see    route.Lister
	// broken is what the share of a backend that cannot be used is answered with.
	broken uint32
	speaks api.Protocol
	// connections says that the rules are about connections, which match nothing.
	connections bool
	// strict says that refs to other namespaces need a ReferenceGrant.
	strict bool
	notes  []api.Note
	// invalid are the notes on rules that cannot be carried out; good is whether any
	// rule can.
	invalid []api.Note
	good    bool
}

// note says something about the object; o is the part of it that says so.
func (x *reader) note(o *api.Origin, severity api.Severity, code string, at api.Path, format string, args ...any) {
	x.notes = append(x.notes, api.Note{Origin: o, Severity: severity, Code: code, Field: at, Message: fmt.Sprintf(format, args...)})
}

// drop says that a rule cannot be carried out.
func (x *reader) drop(o *api.Origin, code string, at api.Path, format string, args ...any) {
	x.invalid = append(x.invalid, api.Note{Origin: o, Severity: api.Error, Code: code, Field: at, Message: fmt.Sprintf(format, args...)})
}

func (x *reader) parsed(parents []gatewayv1.ParentReference, rules []rule) *route.ParsedRoute {
	out := &route.ParsedRoute{Object: x.object, Top: api.TargetRef{Kind: api.KindMesh}, Speaks: x.speaks, Connections: x.connections}
	if len(rules) == 0 { // which is one that takes everything
		rules = []rule{{}}
	}
	read := x.rules(rules)
	for i := range x.invalid {
		n := x.invalid[i]
		if x.good { // the others are in effect
			n.Severity, n.Message = api.Warning, "Dropped Rule: "+n.Message
		}
		x.notes = append(x.notes, n)
	}
	out.Entries = x.parents(parents, read, rules)
	if !x.good && len(read) == 0 {
		out.Entries = nil
	}
	if callers, one := oneNamespace(out.Entries); one {
		out.Role = callers
	}
	out.Notes = x.notes
	return out
}

// rules are those that take requests.
func (x *reader) rules(rules []rule) []route.Rule {
	var read []route.Rule
	for i := range rules {
		if r, ok := x.rule(&rules[i], i); ok {
			read = append(read, r)
		}
	}
	return read
}

// oneNamespace is the role of an object that is for the callers of its own namespace
// alone.
func oneNamespace(entries []route.Entry) (role string, ok bool) {
	for i := range entries {
		if entries[i].Callers == "" {
			return "", false
		}
	}
	return api.RoleConsumer, len(entries) > 0
}

// rule reads rule i; not ok where it takes no requests.
func (x *reader) rule(r *rule, i int) (route.Rule, bool) {
	at := api.Path("spec.rules").Index(i)
	out := route.Rule{Origin: &api.Origin{Ref: x.object.Ref, Rule: &i, RuleName: string(or(r.name, "")), Field: at}}
	if !x.connections {
		var bad bool
		if out.Matches, bad = x.matches(r.matches, out.Origin, at.Field("matches")); bad {
			return out, false
		}
	}
	s := &said{broken: x.broken, key: keyOf(out.Matches)}
	before := len(x.invalid)
	x.filters(s, &out, r.filters, at.Field("filters"))
	x.unasked(s, &out, r.filters, at.Field("filters"))
	if s.closed {
		x.good = x.good || len(x.invalid) == before
	} else {
		x.good = true
		s.backends = x.backends(&out, r.backends, at.Field("backendRefs"))
		out.Backends = s.backends
		if s.redirect == nil {
			out.Unserved = route.Unserved(s.backends, x.failing())
		}
	}
	s.inline = x.inline(r, out.Origin, at)
	if r.sticky != nil {
		x.note(out.Origin, api.Warning, api.CodeUnsupported, at.Field("sessionPersistence"), "weft keeps no sessions, so requests of one client go to any endpoint; remove it, or keep the session in the application")
	}
	out.Payload = s
	return out, true
}

// failing is what becomes of what nobody takes.
func (x *reader) failing() string {
	switch {
	case x.connections:
		return route.EachClosed
	case x.broken == 503:
		return fmt.Sprintf(route.EachAnswered, x.broken) + ", which is UNAVAILABLE in gRPC"
	}
	return fmt.Sprintf(route.EachAnswered, x.broken)
}

// matches are those of a rule; bad where one of them cannot be asked, and then the
// rule takes nothing: without that match it would not be what was written.
func (x *reader) matches(list []lazyMatch, o *api.Origin, at api.Path) (out []match.Match, bad bool) {
	if len(list) == 0 {
		return []match.Match{match.CatchAll}, false
	}
	for i, m := range list {
		c, err := m()
		if err != nil {
			x.drop(o, api.CodeUnsupported, at.Index(i), "%v, so the rule takes no requests; write a match that weft knows", err)
			return nil, true
		}
		out = append(out, match.Match{Conditions: c})
	}
	return out, false
}

// keyOf is one text for rules that match the same, in whatever order they say it.
func keyOf(matches []match.Match) string {
	var texts []string
	for i := range matches {
		var asked []string
		for j := range matches[i].Conditions {
			asked = append(asked, matches[i].Conditions[j].Text())
		}
		slices.Sort(asked)
		texts = append(texts, strings.Join(asked, "\x00"))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "\x01")
}
