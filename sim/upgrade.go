package sim

import "strings"

// upgrade is what a request asks for in place of HTTP.
type upgrade uint8

const (
	noUpgrade      upgrade = iota
	webSocket              // passes through every listener
	http2Upgrade           // h2c: Envoy forgets it and takes the request as it is
	unknownUpgrade         // answered 403
)

// upgradeOf reads Connection and Upgrade as Envoy does: both are needed, and what
// Upgrade says is one word, not a list.
func upgradeOf(h Headers) upgrade {
	asks, named, what := false, false, ""
	for name, v := range h {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "connection":
			for token := range strings.SplitSeq(strings.ReplaceAll(v, repeat, ","), ",") {
				asks = asks || strings.EqualFold(strings.TrimSpace(token), "upgrade")
			}
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
			c.sent[name] = v
		case c.upgrade == http2Upgrade && name == "http2-settings":
			delete(c.sent, name)
		}
	}
}
