package inspect

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
)

// remarks collects notes, each once.
type remarks struct {
	seen  map[remark]bool
	notes []api.Note
}

// remark is what a note says: where, and what.
type remark struct {
	origin        api.Ref
	at, field     api.Path
	code, message string
}

func (r *remarks) add(notes ...api.Note) {
	if r.seen == nil {
		r.seen = map[remark]bool{}
	}
	for _, n := range notes {
		key := remark{field: n.Field, code: n.Code, message: n.Message}
		if n.Origin != nil {
			key.origin, key.at = n.Origin.Ref, n.Origin.Field
		}
		if !r.seen[key] {
			r.seen[key] = true
			r.notes = append(r.notes, n)
		}
	}
}

// rendered is what an Envoy of this dataplane does not get as it is written.
func rendered(m *resolve.Model, r *resolve.Resolved) []api.Note {
	return xds.NewRenderer(m.Kinds()).Render(r).Notes
}

// adjusted are the values that merging has brought together although Envoy takes
// them only changed. What dataplanes share is looked at once.
func adjusted(m *resolve.Model) []api.Note {
	var out remarks
	tables, effective := map[*resolve.Table]bool{}, map[*policies.Effective]bool{}
	for r := range m.Dataplanes("") {
		for _, o := range r.Outbounds {
			if o.Table == nil || tables[o.Table] {
				continue
			}
			tables[o.Table] = true
			for _, rt := range o.Table.Routes {
				for _, e := range rt.Policies {
					if !effective[e] {
						effective[e] = true
						out.add(e.Notes()...)
					}
				}
			}
		}
	}
	return out.notes
}
