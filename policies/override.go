package policies

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Overrider is a conf whose override says more than is written: two fields that
// are one switch may not be split between an override and what it overrides.
type Overrider interface {
	// AsOverride is the conf with what its override implies.
	AsOverride() Conf
}

// confsOf checks the default and the override of one entry, which stands at at.
// A default that is nil beside an override is none.
func (s *Spec) confsOf(f *Findings, at api.Path, def, override Conf) {
	if def != nil {
		f.Include(def.Validate(at.Field("default")))
	}
	if override == nil {
		return
	}
	f.Include(override.Validate(at.Field("override")))
	if s.Kind.Authorizer != nil {
		return
	}
	both := s.read(override)
	for _, leaf := range s.read(def) {
		if slices.ContainsFunc(both, func(o merge.Leaf) bool { return o.Field == leaf.Field }) {
			path := s.Kind.Schema.Leaves[leaf.Field].Path
			f.Warns(at.Field("default").Field(path), "Overridden", "the override beside it sets the field too, so this value acts nowhere; remove one of them")
		}
	}
}

// Loosened is a field whose override replaced a value that bounded more.
type Loosened struct {
	Path      string
	By, Value merge.Said // the override, and the strictest value that it replaced
}

// Loosened lists the fields that hold by an override and were bounded more
// strictly by a value below it: a shorter timeout, fewer retries, a lower rate.
// An override sets a value for everybody, it is not an upper bound.
func (e *Effective) Loosened() []Loosened {
	var out []Loosened
	for _, f := range e.Fields {
		by, path := f.Winner(), e.Kind.Schema.Leaves[f.Field].Path
		if !by.Override || e.Kind.Relaxes == nil {
			continue
		}
		if s := e.strictest(f, func(v any) bool { return e.Kind.Relaxes(path, v, by.Value) }); s != nil {
			out = append(out, Loosened{path, by, *s})
			continue
		}
		off, isSwitch := by.Value.(*bool)
		if bound, ok := e.Get(e.Kind.Switches[path]); ok && isSwitch && *off {
			if s := e.strictest(bound, func(any) bool { return true }); s != nil {
				out = append(out, Loosened{path, by, *s})
			}
		}
	}
	return out
}

// strictest is the value of f that bounds most, of those which somebody wrote as a
// default and of which counts is true; nil where there is none.
func (e *Effective) strictest(f merge.Field, counts func(any) bool) *merge.Said {
	var out *merge.Said
	for i := range f.Said {
		s := &f.Said[i]
		if s.Override || s.Layer == merge.Default || !counts(s.Value) {
			continue
		}
		if out == nil || e.Kind.Relaxes(e.Kind.Schema.Leaves[f.Field].Path, s.Value, out.Value) {
			out = s
		}
	}
	return out
}

// loosened says of each loosened field whose value is replaced by what.
func (e *Effective) loosened() []api.Note {
	var notes []api.Note
	for _, l := range e.Loosened() {
		field := PartOf(l.By.Origin.Field, "override")
		notes = append(notes, api.Note{Origin: l.By.Origin, Severity: api.Warning, Code: "OverrideLoosens", Field: field, Message: fmt.Sprintf(
			"%s is %s here, where %s bounds it by %s; an override sets one value for all, it is not an upper bound", l.Path, written(l.By.Value), source(l.Value), written(l.Value.Value))})
	}
	return notes
}

// written is a value as a document would have it.
func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values come from documents
	}
	return strings.Trim(string(text), `"`)
}
