package sim

import (
	"strings"

	"github.com/weftmesh/weft/route/match"
)

// call is a request as Envoy has it when it looks for a route.
type call struct {
	method    string
	authority string
	path      string  // normalised unless asSent, without the query
	query     string  // with its question mark
	sent      Headers // what reaches a backend if no filter changes it
	headers   Headers // what matches see: sent, and what Envoy adds before it looks
	body      int64
	framings  []framing
	grpc      bool
	http2     bool // so the workload asks
	anyMethod bool // where it comes, every method is read
	refused   bool // for what Connection names
	oddHost   bool // with a character that Envoy takes in none
	fragment  bool // what it asks for has a #, which Envoy takes in no path
	hostless  bool // because Connection names the host
	asSent    bool // where it comes, the path stays as it was sent
	outside   bool // a client of an edge dataplane asks
	upgrade   upgrade
	claims    map[string]string
	authz     string // what the authorization service answers
	doubts    []string
}

// asked is what conditions may ask of the call. Each line of a repeated header
// counts: one that fits is enough.
func (c *call) asked() *match.Request {
	return &match.Request{
		Method: c.method, Authority: c.authority, Path: c.path, Query: strings.TrimPrefix(c.query, "?"), Header: c.headers.Values,
		Claim: func(name string) (string, bool) { v, ok := c.claims[name]; return v, ok },
	}
}
