package permission

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
)

// SpelledOnce reports whether the inbound refuses a path that has another spelling.
func SpelledOnce(in *effective.Inbound) bool {
	if in.TellsPathsApart() {
		return true
	}
	if j := DeciderOf(in); j != nil && j.OneSpelling() {
		return true
	}
	return slices.ContainsFunc(in.Rules, func(r effective.InboundRule) bool {
		j := DeciderAt(&r)
		return j != nil && j.OneSpelling()
	})
}

// RefusedSpelling is why an inbound refuses a path that has another spelling.
const RefusedSpelling = "its path holds %2F or %5C, which Envoy refuses where who may call depends on paths, whoever calls"

// OneSpelling reports whether an inbound, nil for none, refuses a path that has another spelling, and
// takes several slashes for one.
func OneSpelling(in *effective.Inbound) bool {
	return in != nil && in.TLS != nil && in.Protocol.HTTPLike() && SpelledOnce(in)
}

// escapedSlash reports whether Envoy reads a slash in a path that is written as another
// character.
func escapedSlash(path string) bool {
	lower := strings.ToLower(path)
	return strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c")
}

// MergeSlashes is a path with one slash for several, as Envoy merges them: of nothing but slashes
// two are left.
func MergeSlashes(path string) string {
	if len(path) > 1 && strings.Trim(path, "/") == "" {
		return "//"
	}
	var b strings.Builder
	for i := range len(path) {
		if i == 0 || path[i] != '/' || path[i-1] != '/' {
			b.WriteByte(path[i])
		}
	}
	return b.String()
}
