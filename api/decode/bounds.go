package decode

import (
	"errors"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// Bounds are how far texts are read.
type Bounds struct {
	// Mistakes is how many are told, and as many warnings; how many more there are, the last
	// one says.
	Mistakes int
	// All reads every document for what is sound; else nothing is read behind the last
	// mistake that is told.
	All bool
	// Meshes reports whether a mesh is there, though no text has it; nil is always. Nothing is read behind
	// more documents of others than mistakes are told, unless All is: each is one.
	Meshes func(name string) bool
	// Stopped is asked before each document, and ends the reading with ErrStopped.
	Stopped func() bool
}

// ErrStopped says that nobody waited for the rest any more.
var ErrStopped = errors.New("the documents were not read to their end")

// Within is All within bounds.
func Within(b Bounds, c *api.Catalog, texts ...Text) (objects, refused []*api.Object, err error) {
	r := reading{bounds: b, catalog: c, first: map[api.Ref]api.Position{}}
	empty := true
	for i, t := range texts {
		for doc, broken := range syntax.Documents(t.File, t.Text) {
			empty = false
			if b.Stopped != nil && b.Stopped() {
				return nil, nil, ErrStopped
			}
			if !b.All && (r.mistakes > b.Mistakes || r.homeless.tooMany(b, texts)) {
				r.leave(doc, texts[i:])
				return r.objects, r.refused, asError(r.errs)
			}
			if broken != nil {
				r.add(broken)
				continue
			}
			r.read(doc)
		}
	}
	if empty {
		return nil, nil, syntax.ErrNoDocuments
	}
	r.count()
	return r.objects, r.refused, asError(r.errs)
}

// reading is what was found so far.
type reading struct {
	bounds           Bounds
	catalog          *api.Catalog
	objects, refused []*api.Object
	first            map[api.Ref]api.Position
	errs             []*api.Violation

	mistakes, warnings int
	last               *api.Violation // a mistake that was left out
	homeless           homeless
}

// read reads one document.
func (r *reading) read(doc *syntax.Document) {
	o, wrong := object(r.catalog, doc, api.Ref{Mesh: api.DefaultMesh})
	r.add(wrong...)
	if o == nil {
		return
	}
	r.homeless.add(r.bounds, o)
	at, twice := r.first[o.Ref]
	switch {
	case api.Refuses(asError(wrong)):
		r.refused = append(r.refused, o)
	case twice:
		v := api.Path("name").Breaks("%s is written twice, first at %s; remove one of them", o.Ref, at)
		v.Code, v.Object, v.Position = "Duplicate", o.Ref, doc.PositionOf(doc.Root)
		r.add(v)
	default:
		r.first[o.Ref] = doc.PositionOf(doc.Root)
		r.objects = append(r.objects, o)
	}
}

// add keeps violations within the bounds.
func (r *reading) add(found ...*api.Violation) {
	for _, v := range found {
		n := &r.mistakes
		if v.Severity != api.Error {
			n = &r.warnings
		}
		if *n++; *n <= r.bounds.Mistakes {
			r.errs = append(r.errs, v)
		} else if v.Severity == api.Error {
			r.last = v
		}
	}
}

// leave says that nothing is read from a document on, which is nil where it cannot be parsed.
func (r *reading) leave(doc *syntax.Document, texts []Text) {
	v := syntax.Invalid(texts[0].File, 1, "")
	if doc != nil {
		v.Position = doc.PositionOf(doc.Root)
	}
	left := 0
	for i, t := range texts {
		for chunk := range syntax.Chunks(t.File, t.Text) {
			if i > 0 || chunk.Line >= v.Line {
				left++
			}
		}
	}
	v.Message = fmt.Sprintf("there are more than %d mistakes, and the rest was not read; correct these first", r.bounds.Mistakes)
	if left > 0 {
		v.Message = fmt.Sprintf("there are more than %d mistakes, and the rest was not read, about %d more documents; correct these first", r.bounds.Mistakes, left)
	}
	v.Code = "Cut"
	r.errs = append(r.errs, v)
}

// count says how much was left out.
func (r *reading) count() {
	if r.last != nil {
		v := &api.Violation{Position: r.last.Position, Code: "Cut", Severity: api.Error,
			Message: fmt.Sprintf("there are %d more mistakes; correct those above first", r.mistakes-r.bounds.Mistakes)}
		r.errs = append(r.errs, v)
	}
	if more := r.warnings - r.bounds.Mistakes; more > 0 {
		r.errs = append(r.errs, &api.Violation{Code: "Cut", Severity: api.Warning, Message: fmt.Sprintf("there are %d more warnings", more)})
	}
}
