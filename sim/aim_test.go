package sim_test

import (
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// aimed changes q so that m, as far as the dice know how, matches it.
func (d dice) aimed(m *route.Match, q sim.Request) sim.Request {
	host := strings.Join(strings.SplitN(q.URL, "/", 4)[:3], "/")
	q.URL = host + d.pathFor(m.Path) + d.queryFor(m.Query)
	if m.Method != "" && m.Method != "CONNECT" {
		q.Method = m.Method
	}
	for _, h := range m.Headers {
		if h.Name == "host" || h.Name == "x-request-id" || h.Name == "x-forwarded-proto" {
			continue
		}
		delete(q.Headers, h.Name)
		switch h.Type {
		case "Absent":
		case "Present":
			q.Headers.Add(h.Name, pick(d, values...))
		case "RegularExpression":
			q.Headers.Add(h.Name, pick(d, "1", "2", "12"))
		default:
			q.Headers.Add(h.Name, h.Value)
		}
	}
	return q
}

func (d dice) pathFor(m *route.PathMatch) string {
	switch {
	case m == nil:
		return pick(d, paths...)
	case m.Type == route.Exact:
		return m.Value
	case m.Type == route.Prefix:
		return strings.TrimSuffix(m.Value, "/") + pick(d, "/", "/x", "/a/b", "")
	}
	return pick(d, "/a", "/ab", "/a/b", "/a/c", "/b", "/A", "/a.b")
}

func (d dice) queryFor(list []route.QueryMatch) string {
	var pairs []string
	for _, m := range list {
		value := m.Value
		if m.Type == "RegularExpression" {
			value = pick(d, "1", "2", "x")
		}
		pairs = append(pairs, m.Name+"="+value)
	}
	if len(pairs) == 0 {
		return pick(d, "", "", "?q1=1", "?x")
	}
	return "?" + strings.Join(pairs, "&")
}
