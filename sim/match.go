package sim

import (
	"strings"

	"github.com/weftmesh/weft/route"
)

// call is a request as Envoy has it when it looks for a route.
type call struct {
	method    string
	authority string
	path      string  // normalised, without the query
	query     string  // with its question mark
	sent      Headers // what reaches a backend if no filter changes it
	headers   Headers // what matches see: sent, and what Envoy adds before it looks
	grpc      bool
	upgrade   upgrade
}

// asked is what conditions may ask of the call. Each line of a repeated header
// counts: one that fits is enough.
func (c *call) asked() *route.Request {
	return &route.Request{
		Method: c.method, Authority: c.authority, Path: c.path, Query: strings.TrimPrefix(c.query, "?"), Header: c.headers.Values,
	}
}

// whyNot says why a request does not match, for people; it is empty if it does.
// What Envoy would refuse matches nothing: the renderer leaves its route out.
func whyNot(m *route.Match, asked *route.Request) string {
	conditions, err := m.Conditions()
	if err != nil {
		return "no request can match: " + err.Error()
	}
	return conditions.WhyNot(asked)
}
