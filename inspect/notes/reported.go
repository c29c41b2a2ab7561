package notes

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// reported remembers which fields the reading of documents has warned about, so
// that nobody is told one fact twice: the model finds some of them again.
type reported struct {
	fields map[place]bool // warned about
	above  map[place]bool // that hold one of those
}

// Unreported is what of more the warnings among said do not say already, each once: rules share fields,
// as the default backends of a RouteGroup.
func Unreported(said, more []*api.Violation) []*api.Violation {
	type words struct {
		place
		code, message string
	}
	h, seen := reportedBy(said), map[words]bool{}
	var out []*api.Violation
	for _, v := range more {
		same := words{place{v.Object, v.Field}, v.Code, v.Message}
		if !seen[same] && (!h.covers(v) || slices.Contains(ofWholes, v.Code)) {
			out = append(out, v)
		}
		seen[same] = true
	}
	return out
}

// ofWholes are codes about a rule or an entry as a whole, which no warning about a field of it says.
var ofWholes = []string{"RuleUnmet", "RuleUnserved", shadowedRoute, callersMissed}

type place struct {
	ref   api.Ref
	field api.Path
}

func reportedBy(violations []*api.Violation) reported {
	h := reported{map[place]bool{}, map[place]bool{}}
	for _, v := range violations {
		if v.Severity != api.Warning {
			continue
		}
		h.fields[place{v.Object, v.Field}] = true
		for at := parent(v.Field); at != ""; at = parent(at) {
			h.above[place{v.Object, at}] = true
		}
	}
	return h
}

// covers reports whether there was a warning about the field of v, about one that
// holds it, or about one in it.
func (h reported) covers(v *api.Violation) bool {
	if h.above[place{v.Object, v.Field}] || h.fields[place{v.Object, v.Field}] {
		return true
	}
	for at := parent(v.Field); at != ""; at = parent(at) {
		if h.fields[place{v.Object, at}] {
			return true
		}
	}
	return false
}

// parent is the path of what holds the field at p.
func parent(p api.Path) api.Path {
	return p[:max(strings.LastIndexAny(string(p), ".["), 0)]
}
