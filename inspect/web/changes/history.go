package changes

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/store"
)

// Endpoints are those of batches and of the history. Writes of one document are put under its path by
// package documents.
func (c *DocumentWriter) Endpoints() []endpoint.Operation {
	at := func(name, about string) endpoint.Parameter {
		return endpoint.Parameter{Name: name, About: about, Schema: endpoint.Schema{"type": "integer", "minimum": 0}}
	}
	must := func(p endpoint.Parameter, why string) endpoint.Parameter {
		p.Required = why + ", as GET /_history lists them"
		return p
	}
	object := endpoint.Parameter{Name: "object", About: "One object: KIND/NAME, or as it is printed", Schema: endpoint.Text(1024),
		Reads: func(text string) error { _, err := c.named(text); return err }}
	back := endpoint.Says[applied](must(at("to", "The revision to go back to"), "give the revision to go back to"), endpoint.DryRun, withFields, restoreRevoked).OrSays(endpoint.OfJSON, reflect.TypeFor[Planned]())
	return []endpoint.Operation{
		endpoint.New("POST /_apply", c.apply, "Write many documents, all or none: a stream, an array, or a form with a field for each file", applies()),
		endpoint.New("GET /_history", c.revisions, "Who changed what and when, newest first",
			endpoint.Says[revisionPage](at("since", "Only revisions after this one"), at("before", "Only revisions before this one"), object, endpoint.PageSize)),
		endpoint.New("GET /_diff", c.diff, "What differs between two revisions, in the shape of a plan",
			endpoint.Says[compared](must(at("from", "The revision to compare with"), "give the revision to compare with"), at("to", "The revision that is compared; the latest where it is not given"))),
		endpoint.New("POST /_rollback", c.rollback, "Store what was stored at a revision as a new one", back),
	}
}

// revisionPage is a part of the revisions that are kept.
type revisionPage struct {
	Items []revisionItem `json:"items"`
	Next  *string        `json:"next"` // the address of those before them
}

// mostObjects bounds the objects of one revision that are listed.
const mostObjects = 1000

// revisionItem is one revision in GET /_history.
type revisionItem struct {
	Revision uint64    `json:"revision"`
	Time     time.Time `json:"time"`
	User     string    `json:"user"`
	Client   string    `json:"client,omitempty"`
	Objects  []result  `json:"objects"`
	Cut      int       `json:"cut,omitempty"`   // how many objects are not listed
	Error    string    `json:"error,omitempty"` // why nothing else is known
}

// revisions answers with what was changed, newest first.
func (c *DocumentWriter) revisions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	since, err := revisionOf(q, "since", 0)
	if err != nil {
		return err
	}
	before, err := revisionOf(q, "before", math.MaxUint64)
	if err != nil {
		return err
	}
	sel, err := objects.SelectionOf(url.Values{"size": {q.Get("size")}})
	if err != nil {
		return err
	}
	asked, err := c.named(q.Get("object"))
	if err != nil {
		return err
	}
	if c.History == nil {
		return past(store.ErrNoHistory)
	}
	out := revisionPage{Items: []revisionItem{}}
	err = c.History.Revisions(since, before, func(rev store.Revision) bool {
		item := itemOf(rev, asked)
		if asked != nil && len(item.Objects) == 0 && rev.Damaged == nil {
			return r.Context().Err() == nil
		}
		if len(out.Items) == sel.Size {
			next := nextBefore(r, out.Items[sel.Size-1].Revision)
			out.Next = &next
			return false
		}
		out.Items = append(out.Items, item)
		return r.Context().Err() == nil
	})
	if err := errors.Join(past(err), r.Context().Err()); err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// itemOf is a revision with those of its objects that are asked for; nil asks for all.
func itemOf(rev store.Revision, asked func(api.Ref) bool) revisionItem {
	item := revisionItem{Revision: rev.Number, Time: rev.Time, User: rev.User, Client: rev.Client, Objects: []result{}}
	if rev.Damaged != nil {
		item.Error = rev.Damaged.Error()
	}
	for _, o := range rev.Objects {
		switch {
		case asked != nil && !asked(o.Ref):
		case len(item.Objects) == mostObjects:
			item.Cut++
		default:
			item.Objects = append(item.Objects, result{o.Ref.String(), o.Action})
		}
	}
	return item
}

// revisionOf reads a parameter that is a revision; otherwise where it is not given.
func revisionOf(q url.Values, name string, otherwise uint64) (uint64, error) {
	if !q.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(q.Get(name), 10, 64)
	if err != nil {
		return 0, httpapi.BadField(name, strconv.Quote(redact.Clip(q.Get(name)))+" is not a revision; write a number, as GET /_history lists them")
	}
	return n, nil
}

// named reports of which object KIND/NAME speaks, in whichever mesh, or as an object is
// printed: KIND/MESH/NAME or KIND/MESH/NAMESPACE/NAME; nil for any.
func (c *DocumentWriter) named(text string) (func(api.Ref) bool, error) {
	if text == "" {
		return nil, nil
	}
	word, name, ok := strings.Cut(text, "/")
	t, known := c.Catalog.Find(word)
	if !ok || name == "" || !known {
		return nil, httpapi.BadField("object", strconv.Quote(redact.Clip(text))+" is not an object; write KIND/NAME, such as MeshRetry/mr-1")
	}
	return func(r api.Ref) bool {
		return r.Kind == t.Name && (name == r.Name || name == r.FullName() || t.Name+"/"+name == r.String() || name == r.Namespace+"/"+r.Name)
	}, nil
}

// nextBefore is the absolute address of the revisions before one.
func nextBefore(r *http.Request, revision uint64) string {
	next := r.Clone(r.Context())
	q := next.URL.Query()
	q.Set("before", strconv.FormatUint(revision, 10))
	next.URL.RawQuery = q.Encode()
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + next.URL.RequestURI()
}

// past is the answer to what a history refuses.
func past(err error) error {
	var gone *store.GoneError
	switch {
	case errors.As(err, &gone):
		return httpapi.ProblemDetails{Status: http.StatusGone, Title: "Not kept", Detail: err.Error()}
	case errors.Is(err, store.ErrNoHistory):
		return httpapi.ProblemDetails{Status: http.StatusNotFound, Title: "No history", Detail: err.Error()}
	case errors.Is(err, store.ErrNoRevision):
		return httpapi.ProblemDetails{Status: http.StatusNotFound, Title: "No such revision", Detail: err.Error()}
	}
	return err
}

// compared is the answer to GET /_diff.
type compared struct {
	To uint64 `json:"to"`
	plan.Plan
}

// diff answers with what changed from one revision to another, later or earlier.
func (c *DocumentWriter) diff(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	from, err := revisionOf(q, "from", 0)
	if err != nil {
		return err
	}
	model, err := c.Documents.Model(r.Context())
	if err != nil {
		return err
	}
	now := model.Written()
	to, err := revisionOf(q, "to", now.Revision())
	if err != nil {
		return err
	}
	was, err := c.undo(r.Context(), now, from)
	if err != nil {
		return err
	}
	is, err := c.undo(r.Context(), now, to)
	if err != nil {
		return err
	}
	before := step.Between(model, from, was).After
	step := step.Between(before, to, fromTo(now, was, is))
	p, err := c.plan(r.Context(), outcome{revision: to, results: store.ResultsOf(step.Changes), model: step.After, step: &step})
	if err != nil {
		return err
	}
	p.Plan.From = from
	httpapi.Answer(w, http.StatusOK, compared{to, p.Plan})
	return nil
}

// undo are the changes from now back to a revision.
func (c *DocumentWriter) undo(ctx context.Context, now *snapshot.Snapshot, to uint64) ([]snapshot.Change, error) {
	if c.History == nil {
		return nil, past(store.ErrNoHistory)
	}
	changes, err := c.History.Undo(ctx, now, to)
	return changes, past(err)
}

// fromTo are the changes from one state to another, of which each is now after changes.
func fromTo(now *snapshot.Snapshot, was, is []snapshot.Change) []snapshot.Change {
	before := now.With(now.Revision(), was)
	after := now.With(now.Revision(), is)
	states := map[api.Ref]*api.Object{}
	for _, c := range slices.Concat(was, is) {
		states[c.Ref()], _ = after.Get(c.Ref())
	}
	return store.Undoing(before, states)
}

// errMoved is that somebody wrote between reading the past and writing it again.
var errMoved = errors.New("documents change all the time; try again")

// mostTries bounds how often a rollback begins again because somebody wrote meanwhile.
const mostTries = 50

// rollback stores again what was stored at a revision, in the way of POST /_apply: as one
// revision, checked, or none of it.
func (c *DocumentWriter) rollback(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	dry, err := endpoint.Flag(q, "dryRun")
	if err != nil {
		return err
	}
	to, err := revisionOf(q, "to", 0)
	if err != nil {
		return err
	}
	fields, err := wantsFields(q, dry)
	if err != nil {
		return err
	}
	if err := httpapi.Unconditional(r); err != nil {
		return err
	}
	if c.ReadOnly {
		return c.refusal(r.Context())
	}
	revoked, err := endpoint.Flag(q, "restoreRevoked")
	if err != nil {
		return err
	}
	b := &batch{DocumentWriter: c, fields: fields, restoreRevoked: revoked}
	do := c.stored
	if dry {
		do = c.previewed
	}
	done, err := outcome{}, errMoved
	for range mostTries {
		if !errors.Is(err, errMoved) {
			break
		}
		done, err = c.rolledBack(r.Context(), b, do, to)
	}
	if errors.Is(err, errMoved) {
		return httpapi.Conflict(err.Error())
	}
	if err != nil {
		return err
	}
	done.fields = b.fields
	return c.applied(r.Context(), w, b, done, dry)
}

// rolledBack does what leads back to a revision, unless somebody writes meanwhile.
func (c *DocumentWriter) rolledBack(ctx context.Context, b *batch, do func(context.Context, Asking) (outcome, error), to uint64) (outcome, error) {
	model, err := c.Documents.Model(ctx)
	if err != nil {
		return outcome{}, err
	}
	from := model.Written()
	changes, err := c.undo(ctx, from, to)
	if err != nil {
		return outcome{}, err
	}
	return do(ctx, func(now *snapshot.Snapshot) (admission.WriteRequest, error) {
		if now.Revision() != from.Revision() {
			return admission.WriteRequest{}, errMoved
		}
		return b.restored(now, changes)
	})
}
