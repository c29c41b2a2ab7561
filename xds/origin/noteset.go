package origin

import (
	"github.com/weftmesh/weft/api"
)

// Notes is notes, each once.
type Notes struct {
	List []api.Note
	seen map[api.Note]bool
}

// Add adds those that are new.
func (s *Notes) Add(notes ...api.Note) {
	for _, n := range notes {
		if s.seen == nil {
			s.seen = map[api.Note]bool{}
		}
		if !s.seen[n] {
			s.seen[n] = true
			s.List = append(s.List, n)
		}
	}
}
