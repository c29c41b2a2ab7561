package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/store"
)

// wouldRemove deletes nothing, and says what would lose what it refers to.
func (s *server) wouldRemove(w http.ResponseWriter, r *http.Request, plan store.Plan, err error) error {
	if err != nil {
		return err
	}
	if s.ReadOnly {
		return s.refusal(r.Context())
	}
	model, err := s.Documents.Model(r.Context())
	if err != nil {
		return err
	}
	now := model.Written()
	writes, err := plan(now)
	if err != nil {
		return err
	}
	changes, results := store.Changes(now, writes, time.Now())
	if results[0].Action == store.Missing {
		return missing()
	}
	next, _ := model.Update(now.With(now.Revision()+1, changes), changes)
	gone := make([]api.Ref, len(changes))
	for i, c := range changes {
		gone[i] = c.Ref()
	}
	found := inspect.Breaks(model, next, gone...)
	slices.SortStableFunc(found, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	body := removal{DryRun: true, Violations: []inspect.Violation{}}
	for _, v := range found {
		body.Violations = append(body.Violations, inspect.ViolationOf(v))
	}
	answer(w, http.StatusOK, body)
	return nil
}

// refusal is what a store that takes no writes answers to one: where documents are written
// instead. The write that it is asked for deletes nothing, in any store.
func (s *server) refusal(ctx context.Context) error {
	if _, _, err := s.Documents.Apply(ctx, store.Writes(store.Write{Delete: &api.Ref{}})); err != nil {
		return err
	}
	return store.ErrReadOnly
}

// removal is what would become of others.
type removal struct {
	DryRun     bool                `json:"dryRun"`
	Violations []inspect.Violation `json:"warnings"`
}
