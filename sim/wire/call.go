package wire

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// NormalizedRequest is a request as Envoy has it when it looks for a route.
type NormalizedRequest struct {
	Method    string
	Authority string
	Path      string  // normalised unless KeepsPath, without the query
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

// MatchRequest is what conditions may ask of the call. Each line of a repeated header
// counts: one that fits is enough.
func (c *NormalizedRequest) MatchRequest() *match.Request {
	return &match.Request{
		Method: c.Method, Authority: c.Authority, Path: c.Path, Query: strings.TrimPrefix(c.Query, "?"), Header: c.Headers.Values,
		Claim: func(name string) (string, bool) { v, ok := c.Claims[name]; return v, ok },
	}
}

// FromOutside makes c what an edge listener makes of a request before it looks at the
// path: a host has no dot at its end, and what only a mesh may say is not said.
func (c *NormalizedRequest) FromOutside(scheme string) {
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

// Unread is what the proxy answers to what it could read before it looks for a route; 0
// where it looks.
func (c *NormalizedRequest) Unread(q *Request) uint32 {
	path, ok := c.Path, strings.HasPrefix(c.Path, "/")
	if !c.KeepsPath {
		path, ok = normalize(c.Path)
	}
	if c.Path = path; c.Outside {
		c.Path = match.MergeSlashes(path)
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

// CallOf is what Envoy makes of q.
func CallOf(q Request, a *URL) *NormalizedRequest {
	c := &NormalizedRequest{
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

// Filling is of the request as it came, without what filters remove: Envoy makes their
// changes at once, and removes first.
func (c *NormalizedRequest) Filling(filters []route.Filter) *Filling {
	f := &Filling{call: c, headers: c.Headers, authority: c.Authority, path: c.Path}
	for i := range filters {
		m := filters[i].RequestHeaders
		if m == nil {
			continue
		}
		for _, h := range m.Set {
			delete(f.gone, strings.ToLower(h.Name))
		}
		for _, name := range m.Remove {
			if f.gone == nil {
				f.gone = map[string]bool{}
			}
			f.gone[strings.ToLower(name)] = true
		}
	}
	return f
}

// writes reports whether proxies write a header of c themselves, or tell by it how long a
// body is.
func (c *NormalizedRequest) writes(name string) bool {
	_, given := c.Sent[name]
	switch name {
	case idHeader, "content-length":
		return !given
	case "x-forwarded-for":
		return c.Outside
	}
	return name == "transfer-encoding" || strings.HasPrefix(name, "x-envoy-")
}

// Doubt notes what is not known, for the branch that c comes to.
func (c *NormalizedRequest) Doubt(text string) {
	if !slices.Contains(c.Doubts, text) {
		c.Doubts = append(c.Doubts, text)
	}
}

// changeHeaders makes the changes of rt to the headers of f, beside which Envoy makes those
// of others.
func (c *NormalizedRequest) changeHeaders(f *Forwarded, rt *effective.Route, beside []route.Filter) {
	f.ChangeBy(rt.Filters, c.Filling(slices.Concat(rt.Filters, beside)))
}

// Forward is the request after the route's filters, beside which Envoy makes the
// changes of others.
func (c *NormalizedRequest) Forward(rt *effective.Route, rewrite *route.Rewrite, beside ...route.Filter) *Forwarded {
	f := &Forwarded{Method: c.Method, Authority: c.Authority, Path: c.Path + c.Query, Headers: maps.Clone(c.Sent)}
	c.changeHeaders(f, rt, beside)
	slices.Sort(f.RemovedHeaders)
	f.RemovedHeaders = slices.Compact(f.RemovedHeaders)
	if rewrite == nil {
		return f
	}
	f.TakeHost(rewrite, c.Authority)
	if rewrite.Hostname != "" && rewrite.HostHeader == "" {
		f.Authority = rewrite.Hostname
		delete(f.Headers, "x-envoy-original-host") // Envoy writes its own
	}
	if p, ok := rewrite.Path.Of(rt.Match.Path(), c.Path); ok {
		f.Path = p + c.Query
		delete(f.Headers, "x-envoy-original-path")
	}
	return f
}

// HeadRefusal is what the proxy answers to the head of the request itself, whatever the
// routes are, 0 where it takes it; unknown is what decides that and nobody knows. The error
// says that there is no answer.
func (c *NormalizedRequest) HeadRefusal(q *Request, a *URL) (answer uint32, unknown string, err error) {
	h := head{c.Method, c.Authority, a.path + a.query, lower(q.Headers), c.HTTP2, c.AnyMethod}
	switch {
	case c.Method == http.MethodConnect && c.HTTP2:
		h.target = ""
	case c.Method == http.MethodConnect:
		h.target = c.Authority
	}
	answers := h.refusals(c.framings)
	if len(answers) > 1 {
		return 0, UnknownFraming, nil
	}
	if answers[0] != 0 && c.HTTP2 {
		headers, bytes := c.framings[0].in(h).size()
		return 0, "", fmt.Errorf("headers: %d headers with %d bytes, pseudo headers among them, are more than Envoy takes, %d and %d, and it resets the stream; send less, or ask by HTTP/1.1, where it answers 431",
			headers, bytes, maxHeaders, maxHeaderBytes)
	}
	if answers[0] != 0 {
		c.GRPC = false // it has not read that yet
	}
	return answers[0], "", nil
}

// SendOnWire is what the caller's sidecar sends, with all that it adds and Forward leaves out.
// limit is how long the first attempt may take, 0 for as long as it likes.
func (c *NormalizedRequest) SendOnWire(rt *effective.Route, rewrite *route.Rewrite, limit time.Duration, beside ...route.Filter) *Forwarded {
	f := &Forwarded{Headers: maps.Clone(c.Headers)}
	delete(f.Headers, "host")
	if limit > 0 { // of the first attempt; later ones may have less time left
		f.Headers["x-envoy-expected-rq-timeout-ms"] = strconv.FormatInt(limit.Milliseconds(), 10)
	}
	c.changeHeaders(f, rt, beside)
	if rewrite == nil {
		return f
	}
	(&Forwarded{Headers: f.Headers, OnWire: f}).TakeHost(rewrite, c.Authority)
	if rewrite.Hostname != "" && rewrite.HostHeader == "" && !filteredApart(rt) { // with the weight of a backend Envoy does not
		f.Headers["x-envoy-original-host"] = c.Authority
	}
	if _, ok := rewrite.Path.Of(rt.Match.Path(), c.Path); ok {
		f.Headers["x-envoy-original-path"] = c.Path + c.Query
	}
	return f
}

// filteredApart reports whether a backend of rt has filters of its own: then the changes of
// rt stand with the weight of each backend.
func filteredApart(rt *effective.Route) bool {
	for _, b := range effective.Sharing(rt.Backends) {
		if len(b.Filters) > 0 {
			return true
		}
	}
	return false
}

// upgraded is what reaches a backend of the headers that ask for an upgrade: those
// of a WebSocket, although they concern one connection.
func (c *NormalizedRequest) upgraded(all Headers) {
	c.Upgrade = UpgradeOf(all)
	for name, v := range all {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case c.Upgrade == WebSocket && (name == "connection" || name == "upgrade"):
			c.Sent[name] = Joined(strings.Split(v, Separator)...)
		case c.Upgrade == http2Upgrade && name == "http2-settings":
			delete(c.Sent, name)
		}
	}
}

// dropConnectionHeaders takes away the headers that Connection names (RFC 9110, 7.6.1); ok is
// false where Envoy refuses that. Of an upgrade that is under way, and so of CONNECT
// in HTTP/1, it reads nothing.
func (c *NormalizedRequest) dropConnectionHeaders(all Headers) (ok bool) {
	if c.Upgrade == WebSocket || c.Method == http.MethodConnect && !c.HTTP2 {
		return true
	}
	for name, v := range all {
		if !strings.EqualFold(strings.TrimSpace(name), "connection") {
			continue
		}
		list := words(strings.ToLower(v))
		if len(list) > maxConnectionHeaders {
			return false
		}
		for _, t := range list {
			switch {
			case slices.Contains([]string{"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}, t), strings.HasPrefix(t, ":"):
				return false // removed, they would hide where it comes from
			case t == "host":
				c.hostless = true
			case t != "te" && t != "http2-settings" && t != internalHeader: // the last is not the client's
				delete(c.Sent, t)
			}
		}
	}
	return true
}
