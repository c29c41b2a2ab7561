package xds

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/weftmesh/weft/route"
)

// half says which part of a prefix an Envoy route stands for. A prefix is by
// segment, so /foo becomes the path /foo and the prefix /foo/, and what
// replaces it differs between the two.
type half uint8

const (
	whole      half = iota // a path or an expression: there is no prefix to replace
	bare                   // the prefix itself, as a path
	underneath             // everything below the prefix, which ends with a slash
)

// matched is one Envoy match for one half.
type matched struct {
	*routev3.RouteMatch
	half half
}

// matches are the Envoy matches of m, which share one name and one action.
func matches(m *route.Match) []matched {
	kind, value := route.Prefix, "/"
	if m.Path != nil {
		kind, value = m.Path.Type, m.Path.Value
	}
	switch kind {
	case route.Exact:
		return []matched{{withPath(m, value), bare}}
	case route.Regex:
		out := conditions(m)
		out.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: regex(value)}
		return []matched{{out, whole}}
	}
	value = strings.TrimSuffix(value, "/")
	below := conditions(m)
	below.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: value + "/"}
	if value == "" {
		return []matched{{below, underneath}}
	}
	return []matched{{withPath(m, value), bare}, {below, underneath}}
}

func withPath(m *route.Match, path string) *routev3.RouteMatch {
	out := conditions(m)
	out.PathSpecifier = &routev3.RouteMatch_Path{Path: path}
	return out
}

// conditions is all of m but its path.
func conditions(m *route.Match) *routev3.RouteMatch {
	out := &routev3.RouteMatch{}
	if m.Method != "" {
		out.Headers = append(out.Headers, &routev3.HeaderMatcher{
			Name: ":method", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: exactly(m.Method)},
		})
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, HeaderMatcher(h))
	}
	for _, q := range m.Query {
		text := exactly(q.Value)
		if q.Type == "RegularExpression" {
			text = fullMatch(q.Value)
		}
		out.QueryParameters = append(out.QueryParameters, &routev3.QueryParameterMatcher{
			Name:                         q.Name,
			QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: text},
		})
	}
	return out
}

// pathChange is how Envoy changes a path: at most one field is set.
type pathChange struct {
	prefix string
	regex  *matcherv3.RegexMatchAndSubstitute
}

// rewritten is p for one half. A prefix is replaced without its last slash, the
// remainder of the path keeps its own, and nothing becomes a slash:
// spec/gateway-api.md 2.4 has the table.
func rewritten(p *route.PathRewrite, h half) pathChange {
	switch {
	case p == nil:
		return pathChange{}
	case p.Full != nil:
		return entire(*p.Full)
	case p.Prefix == nil || h == whole:
		return pathChange{}
	}
	replacement := route.Absolute(strings.TrimSuffix(*p.Prefix, "/"))
	if h == bare {
		return entire(replacement)
	}
	return pathChange{prefix: strings.TrimSuffix(replacement, "/") + "/"}
}

// entire replaces the whole path, but not the query.
func entire(path string) pathChange {
	return pathChange{regex: &matcherv3.RegexMatchAndSubstitute{
		Pattern: regex(".*"), Substitution: strings.ReplaceAll(route.Absolute(path), `\`, `\\`),
	}}
}

// headers is the outcome of several modifiers, one after the other, in the form
// that Envoy applies at once: it removes, then sets, then adds.
type headers struct {
	order []string // names, as they first appear
	by    map[string]*headerChange
}

type headerChange struct {
	removed bool
	set     *string
	add     []string
}

func (s *headers) of(name string) *headerChange {
	if s.by == nil {
		s.by = map[string]*headerChange{}
	}
	c := s.by[name]
	if c == nil {
		c = &headerChange{}
		s.by[name] = c
		s.order = append(s.order, name)
	}
	return c
}

// apply lays one modifier over those before it.
func (s *headers) apply(m *route.HeaderModifier) {
	for _, h := range m.Set {
		*s.of(h.Name) = headerChange{set: &h.Value}
	}
	for _, h := range m.Add {
		c := s.of(h.Name)
		c.add = append(c.add, h.Value)
	}
	for _, name := range m.Remove {
		*s.of(strings.ToLower(name)) = headerChange{removed: true}
	}
}

func (s *headers) toAdd() []*corev3.HeaderValueOption {
	var set, add []*corev3.HeaderValueOption
	for _, name := range s.order {
		c := s.by[name]
		if c.set != nil {
			set = append(set, HeaderOption(route.Header{Name: name, Value: *c.set}, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
		}
		for _, v := range c.add {
			add = append(add, HeaderOption(route.Header{Name: name, Value: v}, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
		}
	}
	return append(set, add...)
}

func (s *headers) toRemove() []string {
	var out []string
	for _, name := range s.order {
		if s.by[name].removed {
			out = append(out, name)
		}
	}
	return out
}
