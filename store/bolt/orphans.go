package bolt

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// orphaned are the unreadable documents that writes delete: the store below
// does not know of them.
func (s *Store) orphaned(writes []store.Write) []api.Ref {
	problems := s.Problems()
	if len(problems) == 0 {
		return nil
	}
	unread := make(map[api.Ref]bool, len(problems))
	for _, v := range problems {
		unread[v.Object] = true
	}
	var refs []api.Ref
	for _, w := range writes {
		if w.Delete != nil && unread[*w.Delete] {
			refs = append(refs, *w.Delete)
			delete(unread, *w.Delete)
		}
	}
	return refs
}

// settle ends the problems with what was replaced or deleted.
func (s *Store) settle(results []store.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) == 0 {
		return
	}
	unread := make(map[api.Ref]bool, len(s.problems))
	for _, v := range s.problems {
		unread[v.Object] = true
	}
	for i, r := range results {
		if unread[r.Ref] && r.Action == store.Missing {
			results[i].Action = store.Deleted
		}
		if results[i].Action != store.Unchanged {
			delete(unread, r.Ref)
		}
	}
	s.problems = slices.DeleteFunc(slices.Clone(s.problems), func(v *api.Violation) bool { return !unread[v.Object] })
}
