package skipper

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// Validate checks a RouteGroup as a whole: what weft cannot carry refuses it.
func (g *RouteGroup) Validate(at api.Path) error {
	_, err := planOf(g, nil, at)
	return err
}

// alike reports whether two routes ask the same but for their part of a draw.
func (p *planned) alike(q *planned) bool {
	return p.hasPath == q.hasPath && p.subtree == q.subtree && p.path.compare(q.path) == 0 && p.weight == q.weight &&
		sameConditions(p.asks.all, q.asks.all) && slices.EqualFunc(p.asks.options, q.asks.options, func(a, b option) bool {
		return a.chance == b.chance && sameConditions(a.conditions, b.conditions)
	})
}

func sameConditions(a, b match.Conditions) bool { return slices.EqualFunc(a, b, match.Condition.Equal) }

// checkSegments wants the parts of one draw to follow each other from 0.
func checkSegments(routes []*planned) error {
	var errs *multierror.Error
	for _, p := range routes {
		if p.asks.segment == nil || p.asks.segment[0] == 0 {
			continue
		}
		follows := slices.ContainsFunc(routes, func(q *planned) bool {
			return q.asks.segment != nil && q.asks.segment[1] == p.asks.segment[0] && p.alike(q)
		})
		if !follows {
			errs = multierror.Append(errs, refused(p.origin.Field.Field("predicates"), unsupportedPredicate,
				"TrafficSegment begins at %v, where none of an otherwise equal route ends, and Envoy knows only where a segment ends; begin at 0 and leave no gap", p.asks.segment[0]))
		}
	}
	return errs.ErrorOrNil()
}

// maxLoopbacks bounds the routes of a group that lead back to its routes: what they
// come to grows with every order in which a request may pass them.
const maxLoopbacks = 4

// checkLoopbacks wants loopbacks that can be worked out beforehand: the path changes
// from one literal subtree to another, or to one path, and nothing that comes then
// depends on the path in another way.
func checkLoopbacks(routes []*planned) error {
	var errs *multierror.Error
	loops := 0
	for _, p := range routes {
		e := p.effects[loopback]
		if e == nil || e.moved != nil {
			continue
		}
		at := p.origin.Field.Field("backends")
		refuse := func(format string, args ...any) {
			errs = multierror.Append(errs, refused(at, unsupportedBackend, format+"; the RouteGroup is not applied", args...))
		}
		text, literal := p.path.text()
		if loops++; loops > maxLoopbacks {
			refuse("the group has more than %d loopbacks; route to the backends directly", maxLoopbacks)
		}
		switch {
		case len(p.parts) > 1 || p.byChance():
			refuse("a loopback cannot have a share of the requests in weft; let the route take all of them")
		case e.path == nil:
			refuse("a loopback that changes no path comes back for ever; write modPath or setPath")
		case e.path.full == nil && (!p.hasPath || !literal || e.path.from == "" || e.path.from != text):
			refuse("weft works a loopback out beforehand; write a path without parameters, and a modPath of exactly that path")
		}
		for i, q := range routes {
			switch f := q.effects[service]; {
			case q == p:
			case f != nil && f.path != nil && f.path.full == nil:
				refuse("the loopback may lead to spec.routes[%d], which changes the path once more by an expression; write setPath there, or no loopback", i)
			case q.fillsPath():
				refuse("the loopback may lead to spec.routes[%d], which fills in the path, and Envoy has the one that came; write plain text there, or no loopback", i)
			case q.asks.all.Count(match.OnPath) > 0:
				refuse("the loopback may lead to spec.routes[%d], which asks for the path by an expression; write path or pathSubtree there, or no loopback", i)
			}
		}
	}
	return errs.ErrorOrNil()
}

// fillsPath reports whether a filter fills in the path.
func (p *planned) fillsPath() bool {
	for _, e := range p.effects {
		if e.pathIn != "" {
			return true
		}
	}
	return false
}

// notes are warnings about a group that is taken.
func (c *current) notes(g *RouteGroup, at api.Path, ref api.Ref, routes []*planned) []api.Note {
	var out []api.Note
	warn := func(code string, field api.Path, format string, args ...any) {
		out = append(out, warning(ref, code, field, format, args...))
	}
	if field, message, ok := c.draftNote(); ok {
		warn(draftDialect, field, "%s", message)
		for i := range g.Routes {
			if g.Routes[i].Path == "/" {
				warn(draftDialect, at.Field("routes").Index(i).Field("path"), "the path / matches only /; use pathSubtree for everything")
			}
		}
	}
	if len(g.TLS) > 0 {
		warn(api.CodeUnsupported, at.Field("tls"), "certificates are not taken from RouteGroups in the mesh; name them at the listener of the edge dataplane")
	}
	for _, name := range slices.Sorted(maps.Keys(c.backends)) {
		if b := c.backends[name]; b.Algorithm == weightedRoundRobin {
			warn(api.CodeUnsupported, b.at.Field("algorithm"), "endpoints have no weights in weft, so this is roundRobin; write that")
		}
	}
	if n := len(g.Hosts); n > 1 {
		out = append(out, severalBuckets(ref, routes, n)...)
	}
	for _, p := range routes {
		if e := p.effects[service]; e != nil && (len(e.hash) > 0 || e.bound > 0) && !slices.ContainsFunc(p.parts, func(x part) bool { return slices.ContainsFunc(x.backends, hashed) }) {
			warn(api.CodeUnsupported, p.origin.Field.Field("filters"), "consistentHashKey and consistentHashBalanceFactor have no effect, for no backend of the route has the algorithm consistentHash; write that, or remove them")
		}
		if p.fadesInVain() {
			warn(api.CodeUnsupported, p.effects[service].fadeAt, "new endpoints get their part slowly where the algorithm is roundRobin or powerOfRandomNChoices, and a backend of the route has another, so they get it at once there; write one of them, or remove fadeIn")
		}
		if p.asks.token {
			out = append(out, api.Note{Origin: p.origin, Severity: api.Info, Code: "UnverifiedClaims", Field: p.origin.Field.Field("predicates"),
				Message: "the claims are those of a token that nobody verifies: they may choose a route, and protect nothing"})
		}
		for _, x := range p.parts {
			if x.none {
				warn("NoWeight", p.origin.Field, "no backend has a weight, so every request is answered with 503; write a weight above 0")
			}
		}
	}
	return append(out, inVain(routes, ref)...)
}

// counts are where the route has limits.
func (p *planned) counts() []api.Path {
	var out []api.Path
	for _, kind := range slices.Sorted(maps.Keys(p.effects)) {
		for _, at := range p.effects[kind].counts {
			if !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// warning is a note about a group that is taken.
func warning(ref api.Ref, code string, field api.Path, format string, args ...any) api.Note {
	return api.Note{Origin: &api.Origin{Ref: ref}, Severity: api.Warning, Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// severalBuckets warns of the limits of a group that takes part in n hosts.
func severalBuckets(ref api.Ref, routes []*planned, n int) []api.Note {
	var out []api.Note
	for _, p := range routes {
		for _, at := range p.counts() {
			out = append(out, warning(ref, "SeveralBuckets", at, "each of the %d hosts counts by itself, so a client of all of them gets %d times as much; write a group for each host, with its part of the limit", n, n))
		}
	}
	return out
}
