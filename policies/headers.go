package policies

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Headers checks matches of headers (spec/kuma.md 2).
func (f *Findings) Headers(at api.Path, matches []route.HeaderMatch) {
	for i, m := range matches {
		at := at.Index(i)
		f.HeaderName(at.Field("name"), m.Name)
		value := at.Field("value")
		switch m.Type {
		case "", "Exact", "Prefix":
			f.Include(route.CheckHeaderValue(value, m.Value))
		case "RegularExpression":
			f.Include(route.CheckRegex(value, m.Value))
		case "Present", "Absent":
			if m.Value != "" {
				f.Breaks(value, "%s compares no value; remove it, or write type Exact", m.Type)
			}
		default:
			f.OneOf(at.Field("type"), m.Type, "Exact", "Present", "RegularExpression", "Absent", "Prefix")
		}
	}
}
