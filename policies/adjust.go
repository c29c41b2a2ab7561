package policies

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Adjuster is a conf that documents, each of them sound, can be merged into
// although Envoy would refuse it. Its writers bring it into Envoy's bounds.
type Adjuster interface {
	// Adjustments are what the writers do differently from what the conf says.
	Adjustments() []Adjustment
}

// Adjustment is one value that does not reach Envoy as it stands.
type Adjustment struct {
	// Field is the path of the value, Against that of the value which it does not
	// go together with; Against may be empty.
	Field, Against string
	// Message says what happens; what to do.
	Message string
}

// Notes are what there is to say about the conf that holds: overrides that bound
// less than what they replace, and the adjustments, each on the origin of the
// value concerned, naming the other origin too.
func (e *Effective) Notes() []api.Note {
	notes := e.loosened()
	a, ok := e.Conf.(Adjuster)
	if !ok {
		return notes
	}
	for _, adj := range a.Adjustments() {
		field, against := e.winner(adj.Field), e.winner(adj.Against)
		about := field
		if about == nil || about.Layer == merge.Default {
			about = against
		}
		if about == nil || about.Layer == merge.Default {
			continue // nobody wrote it
		}
		var said []string
		for _, s := range []struct {
			path string
			said *merge.Said
		}{{adj.Field, field}, {adj.Against, against}} {
			if s.said != nil {
				said = append(said, s.path+" "+fmt.Sprint(plain(s.said.Value))+" is from "+source(*s.said))
			}
		}
		notes = append(notes, api.Note{
			Origin: about.Origin, Severity: api.Warning, Code: "Adjusted", Field: about.Origin.Field,
			Message: adj.Message + " (" + strings.Join(said, ", ") + ")",
		})
	}
	return notes
}

// winner is who said what holds at path; nil where nobody did.
func (e *Effective) winner(path string) *merge.Said {
	f, ok := e.Get(path)
	if !ok {
		return nil
	}
	s := f.Winner()
	return &s
}

func source(s merge.Said) string {
	if s.Layer == merge.Default {
		return "the built-in default"
	}
	return s.Origin.Ref.String()
}

// plain is a leaf's value without its pointer, for messages.
func plain(v any) any {
	switch v := v.(type) {
	case *api.Duration:
		return *v
	case *uint32:
		return *v
	case *bool:
		return *v
	}
	return v
}
