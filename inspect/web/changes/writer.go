// Package changes writes documents, or says what writing them would change: one document, a batch, or
// what was stored at an earlier revision. All writes go through one chain of admission.
package changes

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds"
)

type result struct {
	Object string            `json:"object"`
	Action store.WriteAction `json:"action"`
}

// DocumentWriter writes documents, or says what writing them would change.
type DocumentWriter struct {
	*objects.Finder
	Store      Store
	History    store.History // of Store; nil where it keeps none
	Admission  *admission.Chain
	Renderer   *xds.Renderer
	Security   certificates.Security // nil where nobody tells
	ReadOnly   bool                  // documents come from elsewhere, so that no write succeeds
	Log        *slog.Logger
	authorizer rights.UserAuthorizer
	turn       chan struct{} // of applies of users who are not trusted
}

// NewWriter takes one apply at a time of those who are not trusted.
func NewWriter(c DocumentWriter) *DocumentWriter {
	c.authorizer, c.turn = rights.UserAuthorizer{Catalog: c.Catalog, Log: c.Log}, make(chan struct{}, 1)
	return &c
}

// Store takes writes.
type Store interface {
	// Apply writes, with what comes along with a write, all or none.
	Apply(context.Context, store.Plan) (*snapshot.Snapshot, []store.Result, error)
}

// outcome is what became, or would become, of documents that are written.
type outcome struct {
	snapshot *snapshot.Snapshot // what is in the store now; nil of what was only previewed
	revision uint64             // of what is in the store now
	asked    int                // how many of the writes were asked for
	results  []store.Result
	told     []*api.Violation // of the documents
	before   *resolve.Model   // of what was stored before; nil where that is not known
	model    *resolve.Model   // with the documents; nil where the client did not wait for it
	step     *step.Comparison // that was only previewed
	fields   bool             // what changes in Envoy's resources is told of a preview
	preview  *plan.Preview    // with what only takes part in previews; nil without
}

// stored does what is asked for.
func (c *DocumentWriter) stored(ctx context.Context, ask Asking) (outcome, error) {
	before := c.covering(ctx)
	done, err := c.commit(ctx, ask)
	if err == nil {
		done.before, done.model = before, c.covering(ctx)
	}
	return done, err
}

// covering is the model with all that was written; nil where the client is gone
// before it is there. The documents are stored all the same.
func (c *DocumentWriter) covering(ctx context.Context) *resolve.Model {
	model, err := c.Documents.Model(ctx)
	if err != nil {
		return nil
	}
	return model
}

func resultsOf(list []store.Result) []result {
	out := []result{}
	for _, x := range list {
		out = append(out, result{x.Ref.String(), x.Action})
	}
	return out
}

// Asking is what a request wants to be written over what there is. It is asked as a store.Plan is.
type Asking func(now *snapshot.Snapshot) (admission.WriteRequest, error)

// under is what is asked for under the preconditions of a request about one object.
func under(r *http.Request, ref api.Ref, ask Asking) Asking {
	holds := httpapi.Preconditions(r, ref)
	return func(now *snapshot.Snapshot) (admission.WriteRequest, error) {
		if err := holds(now); err != nil {
			return admission.WriteRequest{}, err
		}
		return ask(now)
	}
}

// commit writes to the store what somebody who may write asks for, as far as it is admitted. Who was
// let in to ask is refused here too, whatever the request says.
func (c *DocumentWriter) commit(ctx context.Context, ask Asking) (outcome, error) {
	if err := rights.MayChange(ctx); err != nil {
		return outcome{}, err
	}
	var done outcome
	snapshot, results, err := c.Store.Apply(ctx, c.planOf(ask, c.Admission.Admit, &done))
	if err != nil {
		return outcome{}, err
	}
	done.snapshot, done.revision, done.results = snapshot, snapshot.Revision(), results
	return done, nil
}

// planOf is the plan to do what is asked for as far as it is admitted. What is to be said of the
// documents goes into done.
func (c *DocumentWriter) planOf(ask Asking, admit func(admission.Writer, *snapshot.Snapshot, admission.WriteRequest) (admission.Admitted, error), done *outcome) store.Plan {
	return func(now *snapshot.Snapshot) ([]store.Write, error) {
		asked, err := ask(now)
		if err != nil {
			return nil, err
		}
		out, err := admit(admission.People, now, asked)
		if err != nil {
			return nil, err
		}
		done.told, done.asked = out.Found, out.Requested
		return out.Writes, nil
	}
}
