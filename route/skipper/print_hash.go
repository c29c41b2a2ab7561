package skipper

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
)

// hashFilters are the filters that say how a hash chooses endpoints; not ok where the group
// has no words for it, or no backend is chosen so.
func hashFilters(do *route.Forward) (filters []string, ok bool) {
	var bounds []uint32
	for i := range do.Backends {
		if hashed(do.Backends[i]) {
			bounds = append(bounds, do.Backends[i].Balance.Bound)
		}
	}
	slices.Sort(bounds)
	if bounds = slices.Compact(bounds); len(bounds) != 1 || bounds[0] > 0 && (bounds[0] < 100 || bounds[0] > 100*most) {
		return nil, false
	}
	keys, ok := hashTemplate(do.Hash)
	if !ok {
		return nil, false
	}
	if keys != "" {
		filters = append(filters, say("consistentHashKey", keys))
	}
	if bounds[0] > 0 {
		filters = append(filters, say("consistentHashBalanceFactor", float64(bounds[0])/100))
	}
	return filters, true
}

// hashTemplate is the argument of consistentHashKey that comes to the keys; empty is none.
func hashTemplate(keys []route.HashKey) (text string, ok bool) {
	n := len(keys) - len(byClient)
	if n >= 0 && slices.Equal(keys[n:], byClient) {
		keys = slices.Clone(keys[:n])
		if n > 0 && !keys[n-1].Last {
			return "", false
		} else if n > 0 {
			keys[n-1].Last = false
		}
	} else if !slices.Contains(keys, route.HashKey{Source: true}) {
		return "", false
	}
	for _, k := range keys {
		part := placeholder(k)
		if part == "" {
			return "", false
		}
		text += part
	}
	return text, true
}

// placeholder is a part of a request as a template names it; empty where it has no word.
func placeholder(k route.HashKey) string {
	out := ""
	switch {
	case k.Last || k.Session:
		return ""
	case k.Source:
		out = "request.source"
	case k.Header != "":
		out = "request.header." + k.Header
	case k.Cookie != "":
		out = "request.cookie." + k.Cookie
	case k.Query != "":
		out = "request.query." + k.Query
	}
	if back, ok := partOf(out); !ok || back != k || strings.Contains(out, "}") {
		return ""
	}
	return "${" + out + "}"
}
