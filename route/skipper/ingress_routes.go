package skipper

import (
	"regexp"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route/skipper/eskip"
)

// extra is a route that an Ingress has beside those of its paths.
type extra struct {
	Route
	backend string // shunt, loopback, or empty for the services of the path
}

// route is the route in a group, with a backend of its own there.
func (e *extra) route(g *RouteGroup, services []BackendRef) Route {
	r := e.Route
	r.Predicates, r.Filters = append([]string(nil), r.Predicates...), append([]string(nil), r.Filters...)
	if r.Backends = services; e.backend == "" {
		return r
	}
	r.Backends = []BackendRef{{BackendName: e.backend}}
	for _, b := range g.Backends {
		if b.Name == e.backend {
			return r
		}
	}
	g.Backends = append(g.Backends, Backend{Name: e.backend, Type: e.backend})
	return r
}

// calls are those of a text.
func (x *ingress) calls(text, joint string, at api.Path) []eskip.Call {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	list, err := eskip.Parse(text, joint)
	if err != nil {
		x.lose(at, "is no text of eskip: %v; correct it, for what it is for is left out", err)
		return nil
	}
	return list
}

// texts are calls as the items of a group.
func texts(calls []eskip.Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.String())
	}
	return out
}

// needed are calls without which the Ingress is not translated.
func (x *ingress) needed(text, joint string, at api.Path) []eskip.Call {
	before := len(x.changes)
	out := x.calls(text, joint, at)
	x.open = x.open || len(x.changes) > before
	return out
}

var routeName = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_]*\s*:`)

// readRoutes reads routes of eskip: a name, predicates, filters and a backend.
func (x *ingress) readRoutes(text string, at api.Path) {
	for _, statement := range outside(text, ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		parts := outside(routeName.ReplaceAllString(statement, ""), "->")
		var e extra
		switch last := strings.TrimSpace(parts[len(parts)-1]); {
		case len(parts) < 2:
			x.lose(at, "the route %q has no backend behind ->; it is left out", redact.Clip(strings.TrimSpace(statement)))
			continue
		case last == "<shunt>":
			e.backend = shunt
		case last == "<loopback>":
			e.backend = loopback
		default:
			x.lose(at, "the backend %q of a route has no form in a %s; write a service, <shunt> or <loopback>, for the route is left out", redact.Clip(last), Kind)
			continue
		}
		before := len(x.changes)
		if first := strings.TrimSpace(parts[0]); first != "*" {
			for _, c := range x.calls(first, eskip.And, at) {
				e.ask(c)
			}
		}
		if filters := parts[1 : len(parts)-1]; len(filters) > 0 {
			e.Filters = texts(x.calls(strings.Join(filters, "->"), eskip.Then, at))
		}
		if len(x.changes) == before {
			x.extra = append(x.extra, e)
		}
	}
}

// ask puts a predicate where the group has a field for it.
func (e *extra) ask(c eskip.Call) {
	switch alone := len(c.Args) == 1; {
	case alone && c.Name == "Path" && e.Path == "":
		e.Path = c.Args[0].Text
	case alone && c.Name == "PathSubtree" && e.PathSubtree == "":
		e.PathSubtree = c.Args[0].Text
	default:
		e.Predicates = append(e.Predicates, c.String())
	}
}

// outside cuts a text at a sign where it stands in no quotes.
func outside(text, sign string) []string {
	var out []string
	quote, start := byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
		case strings.HasPrefix(text[i:], sign):
			out, start = append(out, text[start:i]), i+len(sign)
			i += len(sign) - 1
		}
	}
	return append(out, text[start:])
}
