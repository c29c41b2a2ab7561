package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds"
)

// applied is the answer to POST /_apply.
type applied struct {
	Revision uint64              `json:"revision"`
	Results  []result            `json:"results"`
	Warnings []inspect.Violation `json:"warnings,omitempty"`
	// Widens are verdicts about callers by which something gets in that did not, the first of them;
	// WidensCut is how many there are beside them.
	Widens    []plan.Access `json:"widens,omitempty"`
	WidensCut int           `json:"widensCut,omitempty"`
}

type result struct {
	Object string       `json:"object"`
	Action store.Action `json:"action"`
}

// changeWriter writes documents, or says what writing them would change.
type changeWriter struct {
	*objects.Source
	Store      changeStore
	History    store.History // of Store; nil where it keeps none
	Admission  *admission.Chain
	Renderer   *xds.Renderer
	Security   certificates.Security // nil where nobody tells
	ReadOnly   bool                  // documents come from elsewhere, so that no write succeeds
	Log        *slog.Logger
	authorizer rights.Authorizer
	turn       chan struct{} // of applies of users who are not trusted
}

// newChangeWriter takes one apply at a time of those who are not trusted.
func newChangeWriter(c changeWriter) *changeWriter {
	c.authorizer, c.turn = rights.Authorizer{Catalog: c.Catalog, Log: c.Log}, make(chan struct{}, 1)
	return &c
}

// changeStore takes writes.
type changeStore interface {
	// Apply writes, with what comes along with a write, all or none.
	Apply(context.Context, store.Plan) (*api.Snapshot, []store.Result, error)
}

// Limits of one request. What is read of a body takes many times its length while it is judged, and
// nobody but administrators is trusted not to send more.
const (
	maxDocument      = 2 << 20
	maxApply         = 64 << 20
	maxApplyOfMember = 1 << 20
	// turnPatience is how long an apply of a user waits for those of others.
	turnPatience = 10 * time.Second
)

// apply writes a stream of documents as one revision, or none of them.
func (c *changeWriter) apply(w http.ResponseWriter, r *http.Request) error {
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
	if errors.Is(err, decode.ErrNoDocuments) && !b.asReal {
		return httpapi.BadField("", "no documents; send a stream of YAML documents or a JSON array")
	}
	if err := c.authorizer.MayWrite(r.Context(), slices.Concat(b.objects, b.refused)); err != nil {
		return err
	}
	if b.found = api.Violations(err); errors.Is(err, decode.ErrNoDocuments) {
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
func (c *changeWriter) applying(ctx context.Context) (end func(), err error) {
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
func (c *changeWriter) hasMesh() func(name string) bool {
	now := c.Documents.Snapshot()
	return func(name string) bool {
		return name == api.DefaultMesh || now.Has(api.Ref{Kind: api.KindMesh, Name: name})
	}
}

// batchOf is what a request says of what it writes, beside the documents.
func (c *changeWriter) batchOf(r *http.Request) (*batch, error) {
	q := r.URL.Query()
	b := &batch{changeWriter: c, stream: true}
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
func (c *changeWriter) applied(ctx context.Context, w http.ResponseWriter, b *batch, done outcome, dry bool) error {
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
func wanted(ctx context.Context, ask asking) asking {
	return func(now *api.Snapshot) (admission.Asked, error) {
		if err := ctx.Err(); err != nil {
			return admission.Asked{}, err
		}
		return ask(now)
	}
}

// warningsTold are as many warnings as one answer has, and how many more there are.
func warningsTold(warnings []*api.Violation) (told []inspect.Violation) {
	for _, v := range warnings[:min(len(warnings), httpapi.MostMistakes)] {
		told = append(told, inspect.ViolationOf(v))
	}
	if more := len(warnings) - httpapi.MostMistakes; more > 0 {
		told = append(told, inspect.ViolationOf(&api.Violation{Code: "Cut", Severity: api.Warning, Message: fmt.Sprintf("there are %d more warnings", more)}))
	}
	return told
}

// batch is what one request writes.
type batch struct {
	*changeWriter
	objects, refused []*api.Object
	dry, asReal      bool              // it is only planned; as if documents of previews took part
	fields           bool              // of a plan: with what changes in Envoy's resources
	restoreRevoked   bool              // a rollback takes revocations back too
	stream           bool              // of documents, whose findings stand in the order of their places
	found            []*api.Violation  // in the texts
	prune            map[string]string // labels of what else is to go; nil for nothing
}

// asked is all of it as writes over now.
func (b *batch) asked(now *api.Snapshot) (admission.Asked, error) {
	a := admission.Asked{Writes: make([]store.Write, 0, len(b.objects)), Refused: b.refused, Found: b.found, InOrder: b.stream}
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
func (b *batch) pruned(now *api.Snapshot) []store.Write {
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

// carries reports whether labels hold all that is wanted.
func carries(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// selectorOf are the labels of ?prune=k=v,k=v; nil where it is not given.
func selectorOf(text string) (map[string]string, error) {
	labels := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(part, "=")
		if _, twice := labels[k]; !ok || twice || k == "" || strings.ContainsAny(k+v, "=!() \t") {
			return nil, httpapi.BadField("prune", strconv.Quote(part)+" is not a label; write the labels of what is to go as k=v, separated by commas")
		}
		labels[k] = v
	}
	return labels, nil
}

// changedRefs are the objects that a write changed.
func changedRefs(list []store.Result) (out []api.Ref) {
	for _, r := range list {
		if r.Action != store.Unchanged {
			out = append(out, r.Ref)
		}
	}
	return out
}

// mostWidened is how many verdicts are told of documents that were stored.
const mostWidened = 50

// widened is by which verdicts something gets in since documents were stored, of dataplanes of their
// meshes. A bug that is met is a log: the documents are stored.
func (c *changeWriter) widened(ctx context.Context, done outcome) (out []plan.Access, cut int) {
	if done.before == nil || done.model == nil {
		return nil, 0
	}
	defer func() {
		if bug := recover(); bug != nil {
			c.Log.Error("what widens could not be found", "panic", bug, "stack", string(debug.Stack()))
			out, cut = nil, 0
		}
	}()
	step := plan.Step{Before: done.before, After: done.model, Wanted: func() bool { return ctx.Err() == nil }}
	meshes := map[string]bool{}
	for _, r := range done.results {
		meshes[cmp.Or(r.Ref.Mesh, r.Ref.Name)] = r.Action != store.Unchanged || meshes[cmp.Or(r.Ref.Mesh, r.Ref.Name)]
	}
	for mesh, changes := range meshes {
		if !changes || !done.model.Reader(nil).Identities(mesh) && !done.before.Reader(nil).Identities(mesh) {
			continue
		}
		for o := range done.model.Snapshot().Of(api.KindDataplane, mesh) {
			was, had := done.before.Dataplane(o.Ref)
			if is, _ := done.model.Dataplane(o.Ref); had && is != was {
				step.Affected = append(step.Affected, o.Ref)
			}
		}
	}
	slices.SortFunc(step.Affected, api.Ref.Compare)
	return plan.Widening(step, mostWidened)
}

// outcome is what became, or would become, of documents that are written.
type outcome struct {
	snapshot *api.Snapshot // what is in the store now; nil of what was only previewed
	revision uint64        // of what is in the store now
	asked    int           // how many of the writes were asked for
	results  []store.Result
	told     []*api.Violation // of the documents
	before   *resolve.Model   // of what was stored before; nil where that is not known
	model    *resolve.Model   // with the documents; nil where the client did not wait for it
	step     *plan.Step       // that was only previewed
	fields   bool             // what changes in Envoy's resources is told of a preview
	preview  *plan.Preview    // with what only takes part in previews; nil without
}

// stored does what is asked for.
func (c *changeWriter) stored(ctx context.Context, ask asking) (outcome, error) {
	before := c.covering(ctx)
	done, err := c.commit(ctx, ask)
	if err == nil {
		done.before, done.model = before, c.covering(ctx)
	}
	return done, err
}

// covering is the model with all that was written; nil where the client is gone
// before it is there. The documents are stored all the same.
func (c *changeWriter) covering(ctx context.Context) *resolve.Model {
	model, err := c.Documents.Model(ctx)
	if err != nil {
		return nil
	}
	return model
}

// dangling is what the world says about written objects: references that lead
// nowhere, fields without effect. It looks at what they are about. The places are
// those in the texts that were sent, also where the store keeps an older text that
// says the same. A bug that is met is a warning: the documents are stored.
func (c *changeWriter) dangling(model *resolve.Model, objects []*api.Object) (out []*api.Violation) {
	if model == nil {
		return nil
	}
	defer func() {
		if bug := recover(); bug != nil {
			c.Log.Error("warnings could not be found", "panic", bug, "stack", string(debug.Stack()))
			out = append(out, &api.Violation{Code: "Failed", Severity: api.Warning,
				Message: "a bug in weft keeps its warnings from being found; report the log of the control plane"})
		}
	}()
	refs := make([]api.Ref, len(objects))
	for i, o := range objects {
		refs[i] = o.Ref
	}
	// Most documents have no notes, and an index of all of a large batch is half as large as they are.
	places := sync.OnceValue(func() *notes.Places { return notes.PlacesIn(api.NewSnapshot(0, objects...)) })
	for _, n := range notes.On(c.ReaderOf(model, nil), refs...) {
		if n.Severity != api.Info {
			out = append(out, &api.Violation{Position: places().Of(n), Object: n.Origin.Ref, Field: n.Field, Code: n.Code,
				Message: strings.TrimSpace(n.Message), Severity: api.Warning})
		}
	}
	return out
}
