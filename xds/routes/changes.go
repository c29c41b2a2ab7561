package routes

import (
	"regexp"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
)

// pathChange is how Envoy changes a path: at most one field is set.
type pathChange struct {
	prefix string
	regex  *matcherv3.RegexMatchAndSubstitute
}

// rewritten is p for paths of which on holds. A prefix is replaced without its last slash,
// the remainder of the path keeps its own, and nothing becomes a slash:
// spec/gateway-api.md 2.4 has the table.
func rewritten(p *route.PathRewrite, on *match.Condition) pathChange {
	if p == nil {
		return pathChange{}
	}
	switch {
	case p.Full != nil:
		return entire(*p.Full)
	case p.Each != nil:
		return pathChange{regex: &matcherv3.RegexMatchAndSubstitute{Pattern: envoy.Regex(p.Each.Expression), Substitution: p.Each.With}}
	}
	value, ok := on.Replaces()
	if p.Prefix == nil || !ok {
		return pathChange{}
	}
	replacement := p.Replacement()
	switch {
	case p.Literal && on.Op == match.BytePrefix && *p.Prefix != "":
		return pathChange{prefix: *p.Prefix}
	case on.Op == match.Equal:
		return entire(replacement)
	case value == "": // Envoy replaces the slash that every path has
		return pathChange{prefix: replacement + "/"}
	case replacement == "": // by prefix_rewrite, /foo/bar would become //bar, and /foo nothing
		return pathChange{regex: &matcherv3.RegexMatchAndSubstitute{
			Pattern: envoy.Regex("^" + regexp.QuoteMeta(value) + "/?"), Substitution: "/",
		}}
	}
	change := pathChange{prefix: replacement}
	if on.Op == match.BytePrefix && strings.HasSuffix(on.Value, "/") { // Envoy takes that slash away too
		change.prefix += "/"
	}
	return change
}

// entire replaces the whole path, but not the query.
func entire(path string) pathChange {
	return pathChange{regex: &matcherv3.RegexMatchAndSubstitute{
		Pattern: envoy.Regex(".*"), Substitution: strings.ReplaceAll(route.Absolute(path), `\`, `\\`),
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
	fill    []*route.Filled // over set
	add     []addition
}

// addition is one more line: a value, or what is filled in.
type addition struct {
	value string
	fill  *route.Filled
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
	for i := range m.Fill {
		if c := s.of(m.Fill[i].Name); m.Fill[i].Add {
			c.add = append(c.add, addition{fill: &m.Fill[i]})
		} else {
			c.fill = append(c.fill, &m.Fill[i])
		}
	}
	for _, h := range m.Add {
		c := s.of(h.Name)
		c.add = append(c.add, addition{value: h.Value})
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
			set = append(set, envoy.HeaderOption(route.Header{Name: name, Value: *c.set}, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
		}
		for _, f := range c.fill {
			set = append(set, envoy.FilledOption(f))
		}
		for _, a := range c.add {
			if a.fill != nil {
				add = append(add, envoy.FilledOption(a.fill))
				continue
			}
			add = append(add, envoy.HeaderOption(route.Header{Name: name, Value: a.value}, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
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
