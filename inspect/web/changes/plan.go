package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
)

// Planned is the answer to a write with dryRun=true: what POST /_apply says of it, and the
// plan (spec/contract.md 9).
type Planned struct {
	Revision uint64   `json:"revision"`
	DryRun   bool     `json:"dryRun"`
	Results  []result `json:"results"`
	plan.Plan
}

// previewed writes nothing, and says what would become of what is asked for, and comes along with it.
func (c *DocumentWriter) previewed(ctx context.Context, ask Asking) (outcome, error) {
	var done outcome
	return c.preview(ctx, c.planOf(ask, c.Admission.Plan, &done), &done)
}

// preview writes nothing, and adds to done what would become of what write says.
func (c *DocumentWriter) preview(ctx context.Context, write store.Plan, done *outcome) (outcome, error) {
	model, err := c.Documents.Model(ctx)
	if err != nil {
		return outcome{}, err
	}
	writes, err := write(model.Written())
	if err != nil {
		return outcome{}, err
	}
	step, results := step.Next(model, writes, time.Now())
	done.revision, done.results, done.model, done.step = model.Written().Revision(), results, step.After, &step
	return *done, nil
}

// previewedAsReal is previewed where what only takes part in previews takes part: what write
// brings, and what is stored of which who asks may be told.
func (c *DocumentWriter) previewedAsReal(ctx context.Context, ask Asking) (outcome, error) {
	var failed error
	var done outcome
	p := &plan.Preview{Takes: c.authorizer.Gettable(ctx, &failed)}
	done, err := c.preview(ctx, p.Of(c.planOf(ask, c.Admission.Plan, &done)), &done)
	if err := cmp.Or(err, failed); err != nil {
		return done, err
	}
	done.results, done.preview = p.Results(done.results), p
	return done, nil
}

// plan is what would change by what nobody did. Who may not ask about all dataplanes is told
// of those that may be asked about, and of no other's documents.
func (c *DocumentWriter) plan(ctx context.Context, o outcome) (Planned, error) {
	step := *o.step
	step.Renderer = c.Renderer
	step.Wanted = func() bool { return ctx.Err() == nil }
	if o.fields {
		step.Print = attach.Print
	}
	everything, err := c.authorizer.ExplainsAll(ctx)
	if err != nil {
		return Planned{}, err
	}
	var failed error
	var cut bool
	if !everything {
		step.See = c.authorizer.Explained(ctx, &failed, &cut)
	}
	out := Planned{Revision: o.revision, DryRun: true, Results: resultsOf(o.results[:o.asked]), Plan: plan.Of(step, o.results)}
	if o.preview != nil {
		o.preview.Tell(&out.Plan)
	}
	if !everything {
		out.Warnings = []inspect.Violation{}
	}
	if cut {
		out.Notes = append(out.Notes, api.Note{Severity: api.Info, Code: "Cut",
			Message: fmt.Sprintf("the change may concern dataplanes of more than %d namespaces, of which the others were not looked at; ask who may see all", rights.MostChecks)})
	}
	return out, errors.Join(failed, ctx.Err())
}

// wantsFields reports whether a plan says what changes in each of Envoy's resources.
func wantsFields(q url.Values, dry bool) (bool, error) {
	wanted := q.Get(withFields.Name)
	switch {
	case wanted != "" && wanted != "diff":
		return false, httpapi.BadField(withFields.Name, strconv.Quote(redact.Clip(wanted))+" cannot be included; write diff, or leave it out")
	case wanted != "" && !dry:
		return false, httpapi.BadField(withFields.Name, "it is for a plan; give dryRun=true with it")
	}
	return wanted != "", nil
}

// refusal is what a store that takes no writes answers to one: where documents are written
// instead. The write that it is asked for deletes nothing, in any store.
func (c *DocumentWriter) refusal(ctx context.Context) error {
	if _, _, err := c.Store.Apply(ctx, store.Writes(store.Write{Delete: &api.Ref{}})); err != nil {
		return err
	}
	return store.ErrReadOnly
}
