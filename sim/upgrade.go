package sim

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// upgrade is what a request asks for in place of HTTP.
type upgrade uint8

const (
	noUpgrade      upgrade = iota
	webSocket              // passes through every listener, and every route that does not refuse it
	http2Upgrade           // h2c: Envoy forgets it and takes the request as it is
	unknownUpgrade         // answered 403 wherever a route matches
)

// upgradeOf reads Connection and Upgrade as Envoy does: both are needed, and what
// Upgrade says is one word, not a list.
func upgradeOf(h Headers) upgrade {
	asks, named, what := false, false, ""
	for name, v := range h {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "connection":
			asks = asks || names(v, "upgrade")
		case "upgrade":
			named, what = true, strings.ToLower(strings.TrimSpace(v))
		}
	}
	switch {
	case !asks || !named:
		return noUpgrade
	case what == "websocket":
		return webSocket
	case what == "h2c":
		return http2Upgrade
	}
	return unknownUpgrade
}

// upgraded is what reaches a backend of the headers that ask for an upgrade: those
// of a WebSocket, although they concern one connection.
func (c *call) upgraded(all Headers) {
	c.upgrade = upgradeOf(all)
	for name, v := range all {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case c.upgrade == webSocket && (name == "connection" || name == "upgrade"):
			c.sent[name] = joined(strings.Split(v, repeat)...)
		case c.upgrade == http2Upgrade && name == "http2-settings":
			delete(c.sent, name)
		}
	}
}

// refuses reports whether the proxy answers c where rt would forward it.
func refuses(c *call, rt *effective.Route) bool {
	return c.upgrade == webSocket && rt.Upgrade == route.UpgradeOff && forwards(rt)
}

// refuse is what becomes of a WebSocket where rt takes none: no filter of Envoy's
// sees it, but its answer has the headers of the route and of a drawn backend.
func (t trace) refuse(rt *effective.Route, c *call) Branch {
	b := respond(c, http.StatusForbidden)
	b.Backends = shares(t.from, rt.Backends, t.draws)
	for i := range b.Backends {
		b.Backends[i].Status, b.Backends[i].Reason = b.Status, "the route refuses WebSockets"
	}
	answered(rt, &b, c)
	for i := range b.Backends {
		b.answers(b.Backends[i].ResponseHeaders)
	}
	b.ResponseHeaders = cmp.Or(b.ResponseHeaders, responseChange(rt.Changes(), c.filling(nil)))
	b.answers(b.ResponseHeaders)
	b.Route = routeOf(rt)
	b.unknown = append(b.unknown, c.doubts...)
	b.forget()
	return b
}

// words are those of a header that is a list, over all its lines.
func words(v string) []string {
	var out []string
	for word := range strings.SplitSeq(strings.ReplaceAll(v, repeat, ","), ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// names reports whether a list has word, in any case.
func names(v, word string) bool { return slices.Contains(words(strings.ToLower(v)), word) }

// maxConnectionHeaders is how many headers Connection may name for Envoy to take the request.
const maxConnectionHeaders = 9

// dropConnectionHeaders takes away the headers that Connection names (RFC 9110, 7.6.1); ok is
// false where Envoy refuses that. Of an upgrade that is under way, and so of CONNECT
// in HTTP/1, it reads nothing.
func (c *call) dropConnectionHeaders(all Headers) (ok bool) {
	if c.upgrade == webSocket || c.method == http.MethodConnect && !c.http2 {
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
				delete(c.sent, t)
			}
		}
	}
	return true
}
