package changes

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/store"
)

// applied is the answer to POST /_apply.
type applied struct {
	Revision uint64              `json:"revision"`
	Results  []result            `json:"results"`
	Warnings []inspect.Violation `json:"warnings,omitempty"`
	// Widens are verdicts about callers by which something gets in that did not, the first of them;
	// WidensCut is how many there are beside them.
	Widens    []access.Access `json:"widens,omitempty"`
	WidensCut int             `json:"widensCut,omitempty"`
}

// Limits of one request. What is read of a body takes many times its length while it is judged, and
// nobody but administrators is trusted not to send more.
const (
	MaxBody          = 2 << 20
	MaxApply         = 64 << 20
	maxApplyOfMember = 1 << 20
	// turnPatience is how long an apply of a user waits for those of others.
	turnPatience = 10 * time.Second
)

// apply writes a stream of documents as one revision, or none of them.
func (c *DocumentWriter) apply(w http.ResponseWriter, r *http.Request) error {
	b, err := c.batchOf(r)
	if err != nil {
		return err
	}
	texts, err := textsOf(w, r, r.URL.Query().Get("file"))
	if err != nil {
		return err
	}
	if rights.CallerOf(r.Context()).Bounded() {
		end, err := c.applying(r.Context())
		if err != nil {
			return err
		}
		defer end()
	}
	stopped := func() bool { return r.Context().Err() != nil }
	b.objects, b.refused, err = decode.Within(decode.Bounds{Mistakes: httpapi.MostMistakes, Meshes: c.hasMesh(), Stopped: stopped}, c.Catalog, texts...)
	if errors.Is(err, decode.ErrStopped) {
		return r.Context().Err()
	}
	if errors.Is(err, syntax.ErrNoDocuments) && !b.asReal {
		return httpapi.BadField("", "no documents; send a stream of YAML documents or a JSON array")
	}
	if err := c.authorizer.MayWrite(r.Context(), slices.Concat(b.objects, b.refused)); err != nil {
		return err
	}
	if b.found = api.Violations(err); errors.Is(err, syntax.ErrNoDocuments) {
		b.found = nil // what is stored is planned
	}
	do, write := c.stored, wanted(r.Context(), b.asked)
	if b.dry {
		do = c.previewed
	}
	if b.asReal {
		do = c.previewedAsReal
	}
	done, err := do(r.Context(), write)
	if err != nil {
		return err
	}
	done.fields = b.fields
	return c.applied(r.Context(), w, b, done, b.dry)
}

// applying waits until no other apply of a user of a cluster is at work; end has to follow.
func (c *DocumentWriter) applying(ctx context.Context) (end func(), err error) {
	late := time.NewTimer(turnPatience)
	defer late.Stop()
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-late.C:
		return nil, httpapi.ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hasMesh reports of a mesh whether it is stored now, or is made with the first document.
func (c *DocumentWriter) hasMesh() func(name string) bool {
	now := c.Documents.Snapshot()
	return func(name string) bool {
		return name == api.DefaultMesh || now.Has(api.Ref{Kind: api.KindMesh, Name: name})
	}
}

// batchOf is what a request says of what it writes, beside the documents.
func (c *DocumentWriter) batchOf(r *http.Request) (*batch, error) {
	q := r.URL.Query()
	b := &batch{DocumentWriter: c, stream: true}
	var err error
	if b.dry, err = endpoint.Flag(q, "dryRun"); err != nil {
		return nil, err
	}
	if b.asReal, err = endpoint.Flag(q, "shadow"); err != nil {
		return nil, err
	}
	if b.asReal && !b.dry {
		return nil, httpapi.BadField("shadow", "it is for a plan; give dryRun=true with it")
	}
	if b.fields, err = wantsFields(q, b.dry); err != nil {
		return nil, err
	}
	if q.Has("prune") {
		if b.prune, err = selectorOf(q.Get("prune")); err != nil {
			return nil, err
		}
	}
	if b.prune != nil && rights.MustAsk(r.Context()) {
		return nil, httpapi.BadField("prune", "what it would delete may be in namespaces that you may not see; leave it out, and delete by kubectl")
	}
	return b, httpapi.Unconditional(r)
}

// applied answers with what became of a batch, or would become of it.
func (c *DocumentWriter) applied(ctx context.Context, w http.ResponseWriter, b *batch, done outcome, dry bool) error {
	warnings := done.told
	everything, err := c.authorizer.ExplainsAll(ctx)
	if err != nil {
		return err
	}
	if everything { // a reference that leads nowhere tells what there is elsewhere
		warnings = append(warnings, notes.Unreported(warnings, c.dangling(done.model, b.objects))...)
		warnings = append(warnings, c.plaintextClients(done.model, b.objects)...)
		warnings = append(warnings, c.refusedBySwitch(done, b.objects)...)
	}
	told := warningsTold(warnings)
	if !dry {
		if done.before != nil && done.model != nil && everything {
			for _, v := range plan.Slid(done.before, done.model, changedRefs(done.results)...) {
				told = append(told, inspect.ViolationOf(v))
			}
		}
		out := applied{Revision: done.revision, Results: resultsOf(done.results), Warnings: told}
		if everything {
			out.Widens, out.WidensCut = c.widened(ctx, done)
		}
		httpapi.Answer(w, http.StatusOK, out)
		return nil
	}
	out, err := c.plan(ctx, done)
	if err != nil {
		return err
	}
	out.Warnings = append(append([]inspect.Violation{}, told...), out.Warnings...)
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// wanted is what is asked for, unless who asks has gone before it begins.
func wanted(ctx context.Context, ask Asking) Asking {
	return func(now *snapshot.Snapshot) (admission.WriteRequest, error) {
		if err := ctx.Err(); err != nil {
			return admission.WriteRequest{}, err
		}
		return ask(now)
	}
}

// asked is all of it as writes over now.
func (b *batch) asked(now *snapshot.Snapshot) (admission.WriteRequest, error) {
	a := admission.WriteRequest{Writes: make([]store.Write, 0, len(b.objects)), Refused: b.refused, Found: b.found, InOrder: b.stream}
	for _, o := range b.objects {
		a.Writes = append(a.Writes, store.Write{Put: o})
	}
	if b.prune != nil {
		a.Writes = append(a.Writes, b.pruned(now)...)
	}
	return a, nil
}

// pruned deletes what carries the labels in the meshes of the documents and is
// not among them. A mesh itself never goes.
func (b *batch) pruned(now *snapshot.Snapshot) []store.Write {
	keep, meshes := map[api.Ref]bool{}, map[string]bool{}
	for _, o := range b.objects {
		keep[o.Ref], meshes[o.Mesh] = true, true
	}
	var writes []store.Write
	for o := range now.All() {
		if o.Kind != api.KindMesh && meshes[o.Mesh] && !keep[o.Ref] && carries(b.Catalog.ShownLabels(o), b.prune) {
			writes = append(writes, store.Write{Delete: &o.Ref})
		}
	}
	return writes
}
