package tables

import (
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// Aimed changes q so that m, as far as the dice know how, matches it.
func (d Dice) Aimed(m *route.Match, q sim.Request) sim.Request {
	host := strings.Join(strings.SplitN(q.URL, "/", 4)[:3], "/")
	q.URL = host + d.pathFor(m) + d.queryFor(m.Conditions)
	for _, c := range m.Conditions {
		switch {
		case c.On == route.OnMethod && c.Op == route.Equal && c.Value != "CONNECT":
			q.Method = c.Value
		case c.On == route.OnHeader && c.Name != "host" && c.Name != "x-request-id" && c.Name != "x-forwarded-proto":
			delete(q.Headers, c.Name)
			if c.Mode&route.Not == 0 {
				q.Headers.Add(c.Name, d.valueFor(&c))
			}
		}
	}
	return q
}

func (d Dice) valueFor(c *route.Condition) string {
	switch c.Op {
	case route.Present:
		return pick(d, values...)
	case route.FullMatch:
		return pick(d, "1", "2", "12")
	}
	return c.Value
}

func (d Dice) pathFor(m *route.Match) string {
	switch c := m.Path(); {
	case m.Count(route.OnPath) == 0:
		return pick(d, paths...)
	case c.Op == route.Equal:
		return c.Value
	case c.Op == route.SegmentPrefix:
		return strings.TrimSuffix(c.Value, "/") + pick(d, "/", "/x", "/a/b", "")
	}
	return pick(d, "/a", "/ab", "/a/b", "/a/c", "/b", "/A", "/a.b")
}

func (d Dice) queryFor(conditions route.Conditions) string {
	var pairs []string
	for _, c := range conditions {
		if c.On != route.OnQuery {
			continue
		}
		value := c.Value
		if c.Op == route.FullMatch {
			value = pick(d, "1", "2", "x")
		}
		pairs = append(pairs, c.Name+"="+value)
	}
	if len(pairs) == 0 {
		return pick(d, "", "", "?q1=1", "?x")
	}
	return "?" + strings.Join(pairs, "&")
}
