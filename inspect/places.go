package inspect

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// Places finds where the fields of notes stand in their documents. Notes on one
// object that come one after the other cost one reading of its text.
type Places struct {
	snapshot *api.Snapshot
	ref      api.Ref
	locate   func(api.Path) api.Position
}

// place says of each note where its field stands.
func (s *Status) place(in *api.Snapshot) {
	places := PlacesIn(in)
	s.Notes = slices.Clone(s.Notes) // the model's are shared
	for i := range s.Notes {
		s.Notes[i].Position = places.Of(s.Notes[i])
	}
}

// PlacesIn looks in the documents of s.
func PlacesIn(s *api.Snapshot) *Places { return &Places{snapshot: s} }

// Of is the place of a note on an object; zero where its text is not known.
func (p *Places) Of(n api.Note) api.Position {
	if n.Position.Line != 0 || n.Origin == nil {
		return n.Position
	}
	if p.locate == nil || p.ref != n.Origin.Ref {
		p.ref, p.locate = n.Origin.Ref, func(api.Path) api.Position { return api.Position{} }
		if o, ok := p.snapshot.Get(p.ref); ok && len(o.Source.Text) > 0 {
			p.locate = decode.Locator(o.Source)
		}
	}
	return p.locate(n.Field)
}
