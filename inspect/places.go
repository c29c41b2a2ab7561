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
	known    fieldPlaces // of an earlier revision
	found    fieldPlaces // nil keeps nothing
}

// fieldPlaces are where fields are. They stay there, for documents are replaced and never changed.
type fieldPlaces map[field]api.Position

// field is one of a document.
type field struct {
	of *api.Object
	at api.Path
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
	o, ok := p.snapshot.Get(n.Origin.Ref)
	if !ok || len(o.Source.Text) == 0 {
		return api.Position{}
	}
	at := field{o, n.Field}
	found, known := p.known[at]
	if !known {
		if p.locate == nil || p.ref != o.Ref {
			p.ref, p.locate = o.Ref, decode.Locator(o.Source)
		}
		found = p.locate(n.Field)
	}
	if p.found != nil {
		p.found[at] = found
	}
	return found
}
