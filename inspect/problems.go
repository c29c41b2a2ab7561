package inspect

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Owner is an object, or a file, with everything that is wrong with it.
type Owner struct {
	Owner    string    `json:"owner"`
	Ref      *api.Ref  `json:"ref,omitempty"`
	Problems []Problem `json:"problems"`
}

// Problem is one thing that is wrong.
type Problem struct {
	Severity api.Severity `json:"severity"`
	Code     string       `json:"code"`
	Field    api.Path     `json:"field,omitempty"`
	Message  string       `json:"message"`
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
	Column   int          `json:"column,omitempty"`
	// Dataplanes are those that it concerns, where it is about sidecars.
	Dataplanes []string `json:"dataplanes,omitempty"`
}

// Problems is everything that is wrong, grouped by who has to act: notes on
// objects, violations of documents that are not served as written, and what
// Envoys refused.
func Problems(m *resolve.Model, sidecars []Sidecar, violations []*api.Violation) []Owner {
	all := map[string]*Owner{}
	add := func(owner string, ref *api.Ref, p Problem) {
		if all[owner] == nil {
			all[owner] = &Owner{Owner: owner, Ref: ref}
		}
		all[owner].Problems = append(all[owner].Problems, p)
	}
	places := PlacesIn(m.Snapshot())
	note := func(n api.Note) {
		if n.Severity == api.Info || n.Origin == nil {
			return
		}
		ref := n.Origin.Ref
		p := Problem{Severity: n.Severity, Code: n.Code, Field: n.Field, Message: n.Message}
		p.at(places.Of(n))
		add(ref.String(), &ref, p)
	}
	for _, n := range Notes(m) {
		note(n)
	}
	for _, v := range violations {
		p := Problem{Severity: v.Severity, Code: v.Code, Field: v.Field, Message: v.Message}
		p.at(v.Position)
		if v.Object.Name == "" {
			add(v.File, nil, p)
		} else {
			add(v.Object.String(), &v.Object, p)
		}
	}
	for _, s := range sidecars {
		if r := s.Refusal; r != nil {
			ref := s.Dataplane
			add(ref.String(), &ref, Problem{Severity: api.Error, Code: "Rejected", Dataplanes: []string{ref.Name},
				Message: "its Envoy refused " + r.Type + ": " + r.Message})
		}
		if s.held() {
			ref := s.Dataplane
			add(ref.String(), &ref, Problem{Severity: api.Error, Code: "Held", Dataplanes: []string{ref.Name}, Message: "its sidecar does not get its configuration: " + s.Note})
		}
	}
	out := make([]Owner, 0, len(all))
	for _, o := range all {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b Owner) int { return cmp.Compare(a.Owner, b.Owner) })
	return out
}

func (p *Problem) at(pos api.Position) { p.File, p.Line, p.Column = pos.File, pos.Line, pos.Column }
