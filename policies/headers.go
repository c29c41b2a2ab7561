package policies

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// HeaderMatch compares one header, as the matches of a MeshHTTPRoute write it:
// Exact (default), Present, Absent, RegularExpression or Prefix.
type HeaderMatch struct {
	Type  string `json:"type,omitempty" schema:"enum=Exact|Present|RegularExpression|Absent|Prefix"`
	Name  string `json:"name" schema:"required,is=headerName"`
	Value string `json:"value,omitempty" schema:"is=header"`
}

// Condition is what m asks of a request or an answer. An error says why it can be
// asked of none.
func (m HeaderMatch) Condition() (match.Condition, error) {
	return match.Written(match.OnHeader, cmp.Or(m.Type, "Exact"), m.Name, m.Value)
}

// Headers checks matches of headers (spec/kuma.md 2).
func (f *Findings) Headers(at api.Path, matches []HeaderMatch) {
	for i, m := range matches {
		at := at.Index(i)
		f.HeaderName(at.Field("name"), m.Name)
		f.Include(match.CheckHeaderMatch(at, cmp.Or(m.Type, "Exact"), m.Value))
	}
}
