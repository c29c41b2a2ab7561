package tables

import (
	"strings"

	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// Aimed changes q so that m, as far as the dice know how, matches it.
func (d Dice) Aimed(m *match.Match, q wire.Request) wire.Request {
	host := strings.Join(strings.SplitN(q.URL, "/", 4)[:3], "/")
	q.URL = host + d.pathFor(m) + d.queryFor(m.Conditions)
	for _, c := range m.Conditions {
		switch {
		case c.On == match.OnMethod && c.Op == match.Equal && c.Value != "CONNECT":
			q.Method = c.Value
		case c.On == match.OnHeader && c.Name != "host" && c.Name != "x-request-id" && c.Name != "x-forwarded-proto":
			delete(q.Headers, c.Name)
			if c.Mode&match.Not == 0 {
				q.Headers.Add(c.Name, d.valueFor(&c))
			}
		}
	}
	return q
}

func (d Dice) valueFor(c *match.Condition) string {
	switch c.Op {
	case match.Present:
		return pick(d, values...)
	case match.FullMatch:
		return pick(d, "1", "2", "12")
	}
	return c.Value
}

func (d Dice) pathFor(m *match.Match) string {
	switch c := m.Path(); {
	case m.Count(match.OnPath) == 0:
		return pick(d, paths...)
	case c.Op == match.Equal:
		return c.Value
	case c.Op == match.SegmentPrefix:
		return strings.TrimSuffix(c.Value, "/") + pick(d, "/", "/x", "/a/b", "")
	}
	return pick(d, "/a", "/ab", "/a/b", "/a/c", "/b", "/A", "/a.b")
}

func (d Dice) queryFor(conditions match.Conditions) string {
	var pairs []string
	for _, c := range conditions {
		if c.On != match.OnQuery {
			continue
		}
		value := c.Value
		if c.Op == match.FullMatch {
			value = pick(d, "1", "2", "x")
		}
		pairs = append(pairs, c.Name+"="+value)
	}
	if len(pairs) == 0 {
		return pick(d, "", "", "?q1=1", "?x")
	}
	return "?" + strings.Join(pairs, "&")
}
