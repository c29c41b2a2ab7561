package wire

import (
	"slices"
	"strings"
)

// Upgrade is what a request asks for in place of HTTP.
type Upgrade uint8

const (
	noUpgrade      Upgrade = iota
	WebSocket              // passes through every listener, and every route that does not refuse it
	http2Upgrade           // h2c: Envoy forgets it and takes the request as it is
	UnknownUpgrade         // answered 403 wherever a route matches
)

// UpgradeOf reads Connection and Upgrade as Envoy does: both are needed, and what
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
