package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// applied is the answer to POST /_apply.
type applied struct {
	Revision uint64              `json:"revision"`
	DryRun   bool                `json:"dryRun,omitempty"`
	Results  []result            `json:"results"`
	Warnings []inspect.Violation `json:"warnings,omitempty"`
}

type result struct {
	Object string       `json:"object"`
	Action store.Action `json:"action"`
}

// apply writes a stream of documents as one revision, or none of them.
func (s *server) apply(w http.ResponseWriter, r *http.Request) error {
	q, err := options(r, "dryRun", "file")
	if err != nil {
		return err
	}
	dry, err := flag(q, "dryRun")
	if err != nil {
		return err
	}
	texts, err := textsOf(w, r, q.Get("file"))
	if err != nil {
		return err
	}
	objects, refused, err := decode.All(s.Catalog, texts...)
	if errors.Is(err, decode.ErrNoDocuments) {
		return badField("", "no documents; send a stream of YAML documents or a JSON array")
	}
	unfit := s.unfit(slices.Concat(objects, refused))
	warnings := api.Violations(err)
	if api.Refuses(err) || len(unfit) > 0 {
		return notValid(inOrder(append(warnings, unfit...)))
	}
	do := s.stored
	if dry {
		do = s.previewed
	}
	done, err := do(r.Context(), objects)
	if err != nil {
		return err
	}
	out := applied{Revision: done.revision, DryRun: dry, Results: []result{}}
	for _, x := range done.results {
		out.Results = append(out.Results, result{x.Ref.String(), x.Action})
	}
	warnings = append(warnings, inspect.Unsaid(warnings, dangling(done.model, objects))...)
	for _, v := range warnings {
		out.Warnings = append(out.Warnings, inspect.ViolationOf(v))
	}
	answer(w, http.StatusOK, out)
	return nil
}

// outcome is what became, or would become, of documents that are written.
type outcome struct {
	revision uint64 // of what is in the store now
	results  []store.Result
	model    *resolve.Model // with the documents; nil where the client did not wait for it
}

func puts(objects []*api.Object) []store.Write {
	writes := make([]store.Write, len(objects))
	for i, o := range objects {
		writes[i] = store.Write{Put: o}
	}
	return writes
}

// stored writes the objects.
func (s *server) stored(ctx context.Context, objects []*api.Object) (outcome, error) {
	snapshot, results, err := s.Documents.Apply(ctx, puts(objects))
	if err != nil {
		return outcome{}, err
	}
	return outcome{snapshot.Revision(), results, s.covering(ctx)}, nil
}

// previewed writes the objects nowhere, and says what would become of them.
func (s *server) previewed(ctx context.Context, objects []*api.Object) (outcome, error) {
	model, err := s.Documents.Model(ctx)
	if err != nil {
		return outcome{}, err
	}
	now := model.Snapshot()
	changes, results := store.Plan(now, puts(objects), time.Now())
	next, _ := model.Update(now.With(now.Revision()+1, changes), changes)
	return outcome{now.Revision(), results, next}, nil
}

// covering is the model with all that was written; nil where the client is gone
// before it is there. The documents are stored all the same.
func (s *server) covering(ctx context.Context) *resolve.Model {
	model, err := s.Documents.Model(ctx)
	if err != nil {
		return nil
	}
	return model
}

// dangling is what the world says about written objects: references that lead
// nowhere, fields without effect. It looks at what they are about. The places are those in the texts that were sent, also where the
// store keeps an older text that says the same.
func dangling(model *resolve.Model, objects []*api.Object) []*api.Violation {
	if model == nil {
		return nil
	}
	refs := make([]api.Ref, len(objects))
	for i, o := range objects {
		refs[i] = o.Ref
	}
	var out []*api.Violation
	places := inspect.PlacesIn(api.NewSnapshot(0, objects...))
	for _, n := range inspect.NotesOn(model.Reader(nil), refs...) {
		if n.Severity != api.Info {
			out = append(out, &api.Violation{Position: places.Of(n), Object: n.Origin.Ref, Field: n.Field, Code: n.Code,
				Message: strings.TrimSpace(n.Message), Severity: api.Warning})
		}
	}
	return out
}
