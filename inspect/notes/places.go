package notes

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/resolve"
)

// Locator finds where the fields of notes stand in their documents. Notes on one
// object that come one after the other cost one reading of its text.
type Locator struct {
	snapshot *snapshot.Snapshot
	ref      api.Ref
	locate   func(api.Path) api.Position
	known    *resolve.QueryCache[field, api.Position] // nil where nothing is kept
}

// field is one of a document.
type field struct {
	of *api.Object
	at api.Path
}

type placesKey struct{}

// mostLocators is of how many fields places are kept: those of documents that are no more are among them.
const mostLocators = 10_000

// LocatorOf looks in the documents of a model, and knows what was looked for before, also in those of
// earlier models.
func LocatorOf(m *resolve.Reader) *Locator {
	return &Locator{snapshot: m.Snapshot(), known: resolve.CacheOf[field, api.Position](m, placesKey{}, func() int { return mostLocators })}
}

// LocatorIn looks in the documents of s.
func LocatorIn(s *snapshot.Snapshot) *Locator { return &Locator{snapshot: s} }

// Of is the place of a note on an object; zero where its text is not known.
func (p *Locator) Of(n api.Note) api.Position {
	if n.Position.Line != 0 || n.Origin == nil {
		return n.Position
	}
	o, ok := p.snapshot.Get(n.Origin.Ref)
	if !ok || len(o.Source.Text) == 0 {
		return api.Position{}
	}
	return p.known.Find(field{o, n.Field}, func() api.Position {
		if p.locate == nil || p.ref != o.Ref {
			p.ref, p.locate = o.Ref, syntax.Locator(o.Source)
		}
		return p.locate(n.Field)
	})
}
