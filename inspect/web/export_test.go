package web

import (
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
)

// Patterns are all endpoints of the API, as http.ServeMux knows them.
func Patterns() []string {
	var out []string
	for _, e := range newServer(Config{}).routes() {
		out = append(out, e.Pattern)
	}
	return out
}

// KnownBy is how far the sidecars of a mesh follow by a census.
func KnownBy(census Census, all Sidecars, m *resolve.Reader, mesh string) inspect.Known {
	return known(census, all, m, mesh)
}

// Counting looks at every sidecar for every question.
func Counting(all Sidecars) Census { return counting{all} }
