package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/store"
)

// asking is what a request wants to be written over what there is. It is asked as a store.Plan is.
type asking func(now *api.Snapshot) (admission.Asked, error)

// under is what is asked for under the preconditions of a request about one object.
func under(r *http.Request, ref api.Ref, ask asking) asking {
	holds := httpapi.Preconditions(r, ref)
	return func(now *api.Snapshot) (admission.Asked, error) {
		if err := holds(now); err != nil {
			return admission.Asked{}, err
		}
		return ask(now)
	}
}

// commit writes to the store what somebody who may write asks for, as far as it is admitted. Who was
// let in to ask is refused here too, whatever the request says.
func (c *changeWriter) commit(ctx context.Context, ask asking) (outcome, error) {
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
func (c *changeWriter) planOf(ask asking, admit func(admission.Writer, *api.Snapshot, admission.Asked) (admission.Admitted, error), done *outcome) store.Plan {
	return func(now *api.Snapshot) ([]store.Write, error) {
		asked, err := ask(now)
		if err != nil {
			return nil, err
		}
		out, err := admit(admission.People, now, asked)
		if err != nil {
			return nil, err
		}
		done.told, done.asked = out.Found, out.Asked
		return out.Writes, nil
	}
}

// write creates or replaces one object from the request's body.
func (c *changeWriter) write(w http.ResponseWriter, r *http.Request, ref api.Ref) error {
	body, err := httpapi.Body(w, r, maxDocument)
	if err != nil {
		return err
	}
	if ref.Kind == api.KindMesh {
		body = c.keptTenancy(r, ref, body)
	}
	o, err := decode.One(c.Catalog, "", body, ref)
	if errors.Is(err, decode.ErrNoDocuments) {
		return httpapi.BadField("", "the body is empty; send the document")
	}
	b := batch{changeWriter: c, found: api.Violations(err)}
	if o == nil {
		b.refused = []*api.Object{{Ref: ref}}
	} else {
		b.objects = []*api.Object{o}
	}
	done, err := c.commit(r.Context(), under(r, ref, b.asked))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if done.results[0].Action == store.Created {
		status = http.StatusCreated
	}
	warnings := done.told
	model := c.covering(r.Context())
	warnings = append(warnings, notes.Unreported(warnings, c.dangling(model, b.objects))...)
	warnings = append(warnings, c.plaintextClients(model, b.objects)...)
	if now, ok := done.snapshot.Get(ref); ok {
		w.Header().Set("ETag", httpapi.ETag(now))
	}
	httpapi.Answer(w, status, warned(warnings))
	return nil
}

// remove deletes ref, which is the first write that is asked for.
func (c *changeWriter) remove(w http.ResponseWriter, r *http.Request, ref api.Ref, ask asking) error {
	dry, err := endpoint.Flag(r.URL.Query(), "dryRun")
	if dry || err != nil {
		return c.wouldRemove(w, r, under(r, ref, ask), err)
	}
	if _, err := wantsFields(r.URL.Query(), dry); err != nil {
		return err
	}
	done, err := c.commit(r.Context(), under(r, ref, ask))
	if err != nil {
		return err
	}
	if done.results[0].Action == store.Missing {
		return httpapi.NotFound()
	}
	httpapi.Answer(w, http.StatusOK, removed{})
	return nil
}

// removed is the body of a successful DELETE.
type removed struct{}

// accepted is the body of a successful PUT.
type accepted struct {
	Warnings []string `json:"warnings,omitempty"`
}

// warned is what a write says of what it wrote.
func warned(found []*api.Violation) accepted {
	var body accepted
	for _, v := range found {
		text := v.Message
		if v.Field != "" {
			text = string(v.Field) + ": " + text
		}
		body.Warnings = append(body.Warnings, text)
	}
	return body
}
