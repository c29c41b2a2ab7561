package wire

import (
	"strings"

	"maps"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/route/match"
)

// call is a request as Envoy has it when it looks for a route.
type Call struct {
	Method    string
	Authority string
	Path      string  // normalised unless asSent, without the query
	Query     string  // with its question mark
	Sent      Headers // what reaches a backend if no filter changes it
	Headers   Headers // what matches see: sent, and what Envoy adds before it looks
	Body      int64
	framings  []framing
	GRPC      bool
	HTTP2     bool // so the workload asks
	AnyMethod bool // where it comes, every method is read
	refused   bool // for what Connection names
	oddHost   bool // with a character that Envoy takes in none
	fragment  bool // what it asks for has a #, which Envoy takes in no path
	hostless  bool // because Connection names the host
	KeepsPath bool // where it comes, the path stays as it was sent
	Outside   bool // a client of an edge dataplane asks
	Upgrade   Upgrade
	Claims    map[string]string
	Authz     string // what the authorization service answers
	Doubts    []string
}

// asked is what conditions may ask of the call. Each line of a repeated header
// counts: one that fits is enough.
func (c *Call) MatchRequest() *match.Request {
	return &match.Request{
		Method: c.Method, Authority: c.Authority, Path: c.Path, Query: strings.TrimPrefix(c.Query, "?"), Header: c.Headers.Values,
		Claim: func(name string) (string, bool) { v, ok := c.Claims[name]; return v, ok },
	}
}

// fromOutside makes c what an edge listener makes of a request before it looks at the
// path: a host has no dot at its end, and what only a mesh may say is not said.
func (c *Call) FromOutside(scheme string) {
	c.Outside = true
	if i := strings.LastIndexByte(c.Authority, '.'); i >= 0 && (i+1 == len(c.Authority) || c.Authority[i+1] == ':') {
		c.Authority = c.Authority[:i] + c.Authority[i+1:]
	}
	c.Headers["host"], c.Headers["x-forwarded-proto"], c.Headers["x-request-id"] = c.Authority, scheme, requestID
	for _, name := range []string{"x-envoy-decorator-operation", "x-envoy-downstream-service-cluster", "x-envoy-downstream-service-node"} {
		delete(c.Headers, name)
		delete(c.Sent, name)
	}
	delete(c.Sent, "x-request-id")
	delete(c.Sent, "x-forwarded-proto")
}

// unread is what the proxy answers to what it could read before it looks for a route; 0
// where it looks.
func (c *Call) Unread(q *Request) uint32 {
	path, ok := c.Path, strings.HasPrefix(c.Path, "/")
	if !c.KeepsPath {
		path, ok = normalize(c.Path)
	}
	if c.Path = path; c.Outside {
		c.Path = mergeSlashes(path)
	}
	switch {
	case c.refused:
		return http.StatusBadRequest
	case q.Version == "1.0":
		return http.StatusUpgradeRequired
	case c.hostless && c.Method != http.MethodConnect, c.oddHost:
		return http.StatusBadRequest
	case (!ok || c.fragment) && c.Method != http.MethodConnect:
		return http.StatusBadRequest
	}
	return 0
}

// requestID stands for the one that Envoy makes up before it looks for a route.
const requestID = "00000000-0000-4000-8000-000000000000"

// callOf is what Envoy makes of q.
func CallOf(q Request, a *URL) *Call {
	c := &Call{
		Method: q.Method, Authority: authority(q, a), Path: a.path, Query: a.query, Sent: received(q.Headers, q.Version == "2"),
		Body: q.Body, framings: q.framings(), HTTP2: q.Version == "2", Claims: q.Claims, Authz: q.Authz,
	}
	c.upgraded(q.Headers)
	c.refused = !c.dropConnectionHeaders(q.Headers)
	// To Envoy nothing without a path is gRPC, nothing of HTTP/1.0, and nothing that it
	// refuses as it reads it.
	c.oddHost, c.fragment = strings.ContainsFunc(c.Authority, notInHost), a.fragment
	c.GRPC = c.Sent.GRPC() && c.Method != http.MethodConnect && q.Version != "1.0" && !c.refused && !c.oddHost
	c.Headers = Headers{"host": c.Authority, "x-forwarded-proto": "http", "x-request-id": requestID}
	maps.Copy(c.Headers, c.Sent)
	return c
}

// authority is what the client calls the server: the URL decides where the
// request goes, a Host header only what it says there, and in CONNECT of HTTP/1 not
// even that.
func authority(q Request, a *URL) string {
	if q.Method == http.MethodConnect && q.Version != "2" {
		return a.Authority
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		if strings.EqualFold(strings.TrimSpace(name), "host") {
			return q.Headers[name]
		}
	}
	return a.Authority
}
