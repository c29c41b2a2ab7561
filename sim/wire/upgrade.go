package wire

import (
	"net/http"
	"slices"
	"strings"
)

// upgrade is what a request asks for in place of HTTP.
type Upgrade uint8

const (
	noUpgrade      Upgrade = iota
	WebSocket              // passes through every listener, and every route that does not refuse it
	http2Upgrade           // h2c: Envoy forgets it and takes the request as it is
	UnknownUpgrade         // answered 403 wherever a route matches
)

// upgradeOf reads Connection and Upgrade as Envoy does: both are needed, and what
// Upgrade says is one word, not a list.
func UpgradeOf(h Headers) Upgrade {
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
		return WebSocket
	case what == "h2c":
		return http2Upgrade
	}
	return UnknownUpgrade
}

// upgraded is what reaches a backend of the headers that ask for an upgrade: those
// of a WebSocket, although they concern one connection.
func (c *Call) upgraded(all Headers) {
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

// words are those of a header that is a list, over all its lines.
func words(v string) []string {
	var out []string
	for word := range strings.SplitSeq(strings.ReplaceAll(v, Separator, ","), ",") {
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
func (c *Call) dropConnectionHeaders(all Headers) (ok bool) {
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
