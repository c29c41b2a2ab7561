package skipper

import (
	"regexp"
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// corsOrigin lets scripts of origins read answers. It answers no preflights: those are the
// backend's, or those of another route, as in Skipper.
func corsOrigin(c *call, e *effect) error {
	allow := route.Header{Name: route.AllowOrigin, Value: "*"}
	origins := c.texts(0)
	if len(origins) == 0 {
		e.add(c, headerFilter(route.SetInAnswer, allow))
		return nil
	}
	expressions := make([]string, len(origins))
	for i, o := range origins {
		if !strings.Contains(o, "://") || strings.ContainsFunc(o, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return c.wrong("%q is no origin, which is compared as it stands; write one as https://www.example.org, or none for all", o)
		}
		expressions[i] = regexp.QuoteMeta(o)
	}
	is, err := match.MatchAll(match.OnHeader, route.RequestOrigin, 0, strings.Join(expressions, "|"))
	made := route.Filter{ResponseHeaders: &route.HeaderModifier{Fill: []route.Filled{{Name: allow.Name, Parts: []route.Part{{Header: route.RequestOrigin}}}}}}
	if len(origins) == 1 {
		allow.Value = origins[0]
		is, err = match.Compare(match.OnHeader, route.RequestOrigin, match.Equal, 0, origins[0])
		made = headerFilter(route.SetInAnswer, allow)
	}
	if err != nil {
		return c.wrong("%v; write fewer origins", err)
	}
	e.reads = append(e.reads, reading{Part: route.Part{Header: route.RequestOrigin}, at: c.at, answer: true})
	return e.addWhere(c, match.Conditions{is}, made)
}
