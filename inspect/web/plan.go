package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
)

// planned is the answer to a write with dryRun=true: what POST /_apply says of it, and the
// plan (spec/contract.md 9).
type planned struct {
	Revision uint64   `json:"revision"`
	DryRun   bool     `json:"dryRun"`
	Results  []result `json:"results"`
	plan.Plan
}

// previewed writes nothing, and says what would become of what is asked for, and comes along with it.
func (s *server) previewed(ctx context.Context, ask asking) (outcome, error) {
	var done outcome
	return s.preview(ctx, s.planOf(ask, s.Admission.Plan, &done), &done)
}

// preview writes nothing, and adds to done what would become of what write says.
func (s *server) preview(ctx context.Context, write store.Plan, done *outcome) (outcome, error) {
	model, err := s.Documents.Model(ctx)
	if err != nil {
		return outcome{}, err
	}
	writes, err := write(model.Written())
	if err != nil {
		return outcome{}, err
	}
	step, results := plan.Next(model, writes, time.Now())
	done.revision, done.results, done.model, done.step = model.Written().Revision(), results, step.After, &step
	return *done, nil
}

// previewedAsReal is previewed where what only takes part in previews takes part: what write
// brings, and what is stored of which who asks may be told.
func (s *server) previewedAsReal(ctx context.Context, ask asking) (outcome, error) {
	var failed error
	var done outcome
	p := &plan.Preview{Takes: s.gettable(ctx, &failed)}
	done, err := s.preview(ctx, p.Of(s.planOf(ask, s.Admission.Plan, &done)), &done)
	if err := cmp.Or(err, failed); err != nil {
		return done, err
	}
	done.results, done.preview = p.Results(done.results), p
	return done, nil
}

// gettable reports whether an object is a policy or a route that who asks may get. What keeps
// that from being known is failed.
func (s *server) gettable(ctx context.Context, failed *error) func(*api.Object) bool {
	u, _ := ctx.Value(userKey{}).(user)
	known := map[Access]bool{}
	return func(o *api.Object) bool {
		t, _ := s.Catalog.Type(o.Kind)
		if !t.Policy && !t.Route || u.may == nil {
			return t.Policy || t.Route
		}
		want := Access{Verb: "get", Group: groupOf(t), Resource: t.Plural, Namespace: o.Namespace}
		may, asked := known[want]
		if !asked && len(known) < mostAsked && *failed == nil {
			var err error
			if may, err = u.may(ctx, want); err != nil {
				*failed = httpapi.Problem{Status: http.StatusServiceUnavailable, Title: "Not known", Detail: err.Error()}
			}
			known[want] = may
		}
		return may
	}
}

// plan is what would change by what nobody did. Who may not ask about all dataplanes is told
// of those that may be asked about, and of no other's documents.
func (s *server) plan(ctx context.Context, o outcome) (planned, error) {
	step := *o.step
	step.Renderer = s.Renderer
	step.Wanted = func() bool { return ctx.Err() == nil }
	if o.fields {
		step.Print = attach.Print
	}
	everything, err := s.explainsAll(ctx)
	if err != nil {
		return planned{}, err
	}
	var failed error
	var cut bool
	if !everything {
		step.See = s.explained(ctx, &failed, &cut)
	}
	out := planned{Revision: o.revision, DryRun: true, Results: resultsOf(o.results[:o.asked]), Plan: plan.Of(step, o.results)}
	if o.preview != nil {
		o.preview.Tell(&out.Plan)
	}
	if !everything {
		out.Warnings = []inspect.Violation{}
	}
	if cut {
		out.Notes = append(out.Notes, api.Note{Severity: api.Info, Code: "Cut",
			Message: fmt.Sprintf("the change may concern dataplanes of more than %d namespaces, of which the others were not looked at; ask who may see all", mostAsked)})
	}
	return out, errors.Join(failed, ctx.Err())
}

// wantsFields reports whether a plan says what changes in each of Envoy's resources.
func wantsFields(q url.Values, dry bool) (bool, error) {
	wanted := q.Get(withFields.name)
	switch {
	case wanted != "" && wanted != "diff":
		return false, httpapi.BadField(withFields.name, strconv.Quote(api.Clip(wanted))+" cannot be included; write diff, or leave it out")
	case wanted != "" && !dry:
		return false, httpapi.BadField(withFields.name, "it is for a plan; give dryRun=true with it")
	}
	return wanted != "", nil
}

// explainsAll reports whether who asks may be told what applies to every dataplane, and so what
// there is in every namespace.
func (s *server) explainsAll(ctx context.Context) (bool, error) {
	if !mustAsk(ctx) {
		return true, nil
	}
	u, _ := ctx.Value(userKey{}).(user)
	t, _ := s.Catalog.Type(api.KindDataplane)
	may, err := u.may(ctx, Access{Verb: "get", Group: groupOf(t), Resource: t.Plural, Subresource: "explain"})
	if err != nil {
		return false, httpapi.Problem{Status: http.StatusServiceUnavailable, Title: "Not known", Detail: err.Error()}
	}
	return may, nil
}

func resultsOf(list []store.Result) []result {
	out := []result{}
	for _, x := range list {
		out = append(out, result{x.Ref.String(), x.Action})
	}
	return out
}

// explained reports whether a user may be told what applies to a dataplane. What keeps that
// from being known is failed; cut are dataplanes of more namespaces than are asked about.
func (s *server) explained(ctx context.Context, failed *error, cut *bool) func(api.Ref) bool {
	u, _ := ctx.Value(userKey{}).(user)
	t, _ := s.Catalog.Type(api.KindDataplane)
	known := map[string]bool{}
	return func(ref api.Ref) bool {
		may, asked := known[ref.Namespace]
		if !asked && len(known) >= mostAsked {
			*cut = true
			return false
		}
		if !asked && *failed == nil {
			var err error
			if may, err = u.may(ctx, Access{Verb: "get", Group: groupOf(t), Resource: t.Plural, Subresource: "explain", Namespace: ref.Namespace}); err != nil {
				*failed = httpapi.Problem{Status: http.StatusServiceUnavailable, Title: "Not known", Detail: err.Error()}
			}
			known[ref.Namespace] = may
		}
		return may
	}
}

// wouldRemove deletes nothing, and says what would change, and what would lose what it refers to.
func (s *server) wouldRemove(w http.ResponseWriter, r *http.Request, ask asking, err error) error {
	if err != nil {
		return err
	}
	o, err := s.previewed(r.Context(), ask)
	if err != nil {
		return err
	}
	if o.results[0].Action == store.Missing {
		return httpapi.NotFound()
	}
	if o.fields, err = wantsFields(r.URL.Query(), true); err != nil {
		return err
	}
	body, err := s.plan(r.Context(), o)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, body)
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
