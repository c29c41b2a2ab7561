package inspect

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Breaks is what is wrong after a change of documents and was not before it, with
// objects that the change does not touch: references that lost what they name.
func Breaks(before, after *resolve.Model, touched ...api.Ref) []*api.Violation {
	type finding struct {
		ref   api.Ref
		field api.Path
		code  string
		text  string
	}
	of := func(n api.Note) finding {
		what, _, _ := strings.Cut(n.Message, ";") // the advice after it may name what goes
		return finding{owner(n), n.Field, n.Code, what}
	}
	known := map[finding]bool{}
	for n := range before.Notes() {
		known[of(n)] = true
	}
	var out []*api.Violation
	places := PlacesIn(after.Snapshot())
	for n := range after.Notes() {
		if n.Severity == api.Info || known[of(n)] || slices.Contains(touched, owner(n)) {
			continue
		}
		known[of(n)] = true
		out = append(out, &api.Violation{Position: places.Of(n), Object: owner(n), Field: n.Field, Code: n.Code,
			Message: strings.TrimSpace(n.Message), Severity: api.Warning})
	}
	return out
}
