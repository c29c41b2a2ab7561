package route

import "strings"

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

// Absolute is path as a request may carry it.
func Absolute(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}
