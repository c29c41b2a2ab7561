package route

import (
	"strings"

	"github.com/weftmesh/weft/api"
)

// LastRewrite is the rewrite that holds: the last one.
func LastRewrite(filters []Filter) *Rewrite {
	var out *Rewrite
	for i := range filters {
		if r := filters[i].Rewrite; r != nil {
			out = r
		}
	}
	return out
}

// DelayOf is how long a request waits before it is answered or goes on: behind limits, and
// behind who says whether it may pass. Several delays add up.
func DelayOf(filters []Filter) api.Duration {
	var out api.Duration
	for i := range filters {
		if d := filters[i].Delay; d != nil {
			out += *d
		}
	}
	return out
}

// Absolute is path as a request may carry it.
func Absolute(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}
