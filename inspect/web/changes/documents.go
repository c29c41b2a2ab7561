package changes

import (
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store"
)

// wouldRemove deletes nothing, and says what would change, and what would lose what it refers to.
func (c *DocumentWriter) wouldRemove(w http.ResponseWriter, r *http.Request, ask Asking, err error) error {
	if err != nil {
		return err
	}
	o, err := c.previewed(r.Context(), ask)
	if err != nil {
		return err
	}
	if o.results[0].Action == store.Missing {
		return httpapi.NotFound()
	}
	if o.fields, err = wantsFields(r.URL.Query(), true); err != nil {
		return err
	}
	body, err := c.plan(r.Context(), o)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, body)
	return nil
}

// Put creates or replaces one object from the request's body.
func (c *DocumentWriter) Put(w http.ResponseWriter, r *http.Request, ref api.Ref) error {
	body, err := httpapi.Body(w, r, MaxBody)
	if err != nil {
		return err
	}
	if ref.Kind == api.KindMesh {
		body = c.kept(r, ref, body)
	}
	o, err := decode.One(c.Catalog, "", body, ref)
	if errors.Is(err, syntax.ErrNoDocuments) {
		return httpapi.BadField("", "the body is empty; send the document")
	}
	b := batch{DocumentWriter: c, found: api.Violations(err)}
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

// Remove deletes ref, which is the first write that is asked for.
func (c *DocumentWriter) Remove(w http.ResponseWriter, r *http.Request, ref api.Ref, ask Asking) error {
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
