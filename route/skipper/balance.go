package skipper

import (
	"math"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
)

// balancing are those that say how endpoints are chosen where the algorithm of the
// backend is consistentHash.
var balancing = []filter{
	{"consistentHashKey", "string", "what requests are told apart by: `${request.header.X}`, `${request.cookie.C}`, `${request.query.Q}` and `${request.source}`, each any number of times. " +
		"X-Forwarded-For, and else the address of the client, where it is missing or has nothing", anywhereElse, hashKey},
	{"consistentHashBalanceFactor", "number", "how many requests an endpoint may have at a time, compared to the average of all, before others get them: 1.25", anywhereElse, hashBound},
}

// fadeIn gives new endpoints their part of the requests slowly.
func fadeIn(c *call, e *effect) error {
	d, err := c.duration(0)
	if err != nil {
		return err
	}
	e.fade, e.fadeAt = route.Balance{SlowStart: *d, Exponent: 1}, c.at
	if len(c.Args) > 1 {
		f := c.Args[1].Number
		if f < .01 || f > most {
			return c.wrong("%v is no exponent; write one from 0.01 to %d, as 1.5", f, most)
		}
		e.fade.Exponent = f
	}
	return nil
}

// slowly reports whether new endpoints of a backend get their part slowly, where a filter asks for
// it: Envoy has that for these two algorithms.
func slowly(b route.BackendRef) bool {
	return b.Balance.Algorithm == route.RoundRobin || b.Balance.Algorithm == route.LeastRequest
}

// fadesInVain reports whether fadeIn has no effect on a backend of the route.
func (p *planned) fadesInVain() bool {
	e := p.effects[service]
	return e != nil && e.fade.SlowStart != 0 && slices.ContainsFunc(p.parts, func(x part) bool {
		return slices.ContainsFunc(x.backends, func(b route.BackendRef) bool { return !slowly(b) })
	})
}

// byClient are what a hash takes of a request where nobody says anything.
var byClient = []route.HashKey{{Header: "x-forwarded-for", Last: true}, {Source: true}}

func hashKey(c *call, e *effect) error {
	var keys []route.HashKey
	for _, found := range template.FindAllStringSubmatch(c.text(0), -1) {
		key, ok := partOf(found[1])
		if !ok {
			return refused(c.at, unsupportedFilter, "weft does not hash %s; the RouteGroup is not applied, so write ${request.header.X}, ${request.cookie.C}, ${request.query.Q} or ${request.source}", found[0])
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return c.wrong("%q names no part of a request; write one, as ${request.header.X-User}", c.text(0))
	}
	if e.hash = keys; !slices.Contains(keys, route.HashKey{Source: true}) { // which every request has
		keys[len(keys)-1].Last = true
		e.hash = append(keys, byClient...)
	}
	return nil
}

// partOf is the part of a request that a placeholder names.
func partOf(placeholder string) (key route.HashKey, ok bool) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(placeholder, "request."), ".")
	switch {
	case placeholder == "request.source":
		return route.HashKey{Source: true}, true
	case name == "" || !strings.HasPrefix(placeholder, "request."):
		return key, false
	case kind == "header":
		name = strings.ToLower(name)
		return route.HashKey{Header: name}, route.CheckHeaderName("", name) == nil
	case kind == "cookie":
		return route.HashKey{Cookie: name}, !strings.ContainsAny(name, " \t,;=\"")
	case kind == "query":
		return route.HashKey{Query: name}, true
	}
	return key, false
}

// most is the widest bound that says anything.
const most = 1000

func hashBound(c *call, e *effect) error {
	f := c.Args[0].Number
	if f < 1 || f > most {
		return c.wrong("%v is no factor; write one from 1 to %d, as 1.25", f, most)
	}
	e.bound = uint32(math.Round(100 * f))
	return nil
}

// balanced are backends as the filters of their route want them, and what their
// requests are told apart by.
func (e *effect) balanced(backends []route.BackendRef) ([]route.BackendRef, []route.HashKey) {
	byHash := slices.ContainsFunc(backends, hashed)
	if !byHash && e.fade.SlowStart == 0 {
		return backends, nil
	}
	out := slices.Clone(backends)
	for i := range out {
		b := &out[i].Balance
		if slowly(out[i]) {
			b.SlowStart, b.Exponent = e.fade.SlowStart, e.fade.Exponent
		}
		if hashed(out[i]) {
			b.Bound = e.bound
		}
	}
	switch {
	case !byHash:
		return out, nil
	case len(e.hash) == 0:
		return out, byClient
	}
	return out, e.hash
}

func hashed(b route.BackendRef) bool { return b.Balance.Algorithm == route.RingHash }
