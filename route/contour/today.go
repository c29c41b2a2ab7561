package contour

import (
	"slices"

	"github.com/weftmesh/weft/api"
)

// Today is an object in the words of today: conditions under their one name, and exact
// for path. False where it is so already.
func (p *HTTPProxy) Today() (api.Spec, bool) {
	out, older := *p, false
	out.read = nil
	out.Includes, out.Routes = slices.Clone(p.Includes), slices.Clone(p.Routes)
	for i := range out.Includes {
		x := &out.Includes[i]
		x.Conditions, older = conditionsToday(x.Conditions, x.Condition, x.Match, older)
		x.Condition, x.Match = nil, nil
	}
	for i := range out.Routes {
		x := &out.Routes[i]
		x.Conditions, older = conditionsToday(x.Conditions, x.Condition, x.Match, older)
		x.Condition, x.Match = nil, nil
	}
	return &out, older
}

func conditionsToday(plain, older []Condition, match *Match, was bool) ([]Condition, bool) {
	out := slices.Concat(plain, older)
	if was = was || older != nil || match != nil; match != nil {
		out = append(out, match.Conditions...)
	}
	for i := range out {
		if out[i].Path != "" {
			out[i].Exact, out[i].Path, was = out[i].Path, "", true
		}
	}
	return out, was
}
