package questions

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve"
)

var byKind = endpoint.Parameter{Name: "kind", About: "Only policies and routes of these kinds, separated by commas", Schema: endpoint.Text(1024)}

var byFare = endpoint.Parameter{Name: "state", About: "fine: only what is as it should be; problem: only what is not", Schema: endpoint.OneOf(string(inspect.FaresWell), string(inspect.FaresBadly))}

// status answers how the policies and routes of a mesh fare, and its sidecars.
func (h *Handlers) status(w http.ResponseWriter, r *http.Request) error {
	mesh := r.PathValue("mesh")
	m, err := h.Reader(r.Context())
	if err != nil {
		return err
	}
	if err := inspect.CheckMesh(m, mesh); err != nil {
		return httpapi.Unknown(err)
	}
	q := r.URL.Query()
	sel, err := objects.SelectionOf(q)
	if err != nil {
		return err
	}
	part := inspect.ListOptions{Offset: sel.Offset, Size: sel.Size, Name: sel.Name}
	if q.Get(endpoint.StatusSize.Name) == "" {
		part.Size = 0
	}
	if err := h.choose(q, &part); err != nil {
		return err
	}
	notes, err := h.seenOf(r.Context(), m, mesh, &part)
	if err != nil {
		return err
	}
	var o conditions.Overview
	if part.Sees == nil {
		o = conditions.OverviewWith(m, mesh, h.Fleet.Sync(m, mesh), h.Sidecars.Sidecar, part, h.Problems()...)
	} else {
		o = conditions.OverviewPart(m, mesh, h.Sidecars.Sidecars(), part, h.Problems()...)
	}
	if end := part.Offset + len(o.Objects); len(o.Objects) > 0 && end < o.Total {
		next := objects.NextPage(r, end)
		o.Next = &next
	}
	o.Notes = append(h.notKnown(), notes...)
	httpapi.Answer(w, http.StatusOK, o)
	return nil
}

// choose reads of which kinds and states the objects are that are asked for.
func (h *Handlers) choose(q url.Values, part *inspect.ListOptions) error {
	part.Fares = inspect.Fares(q.Get(byFare.Name))
	if q.Get(byKind.Name) == "" {
		return nil
	}
	part.Kinds = strings.Split(q.Get(byKind.Name), ",")
	for _, kind := range part.Kinds {
		if t, ok := h.Catalog.Type(kind); !ok || !t.Policy && !t.Route {
			return httpapi.BadField(byKind.Name, strconv.Quote(redact.Clip(kind))+" is no kind of policy or route; GET /_resources lists all kinds")
		}
	}
	return nil
}

// seenOf cuts a part of the status of a mesh to the namespaces of which who asks is told. Its
// notes say of which that is not known.
func (h *Handlers) seenOf(ctx context.Context, m *resolve.Reader, mesh string, part *inspect.ListOptions) ([]api.Note, error) {
	v, isCut := rights.CutTo(ctx)
	if !isCut {
		return nil, nil
	}
	there := map[string]bool{}
	for o := range m.Attachable(mesh) {
		there[o.Namespace] = true
	}
	for o := range m.Snapshot().Of(api.KindDataplane, mesh) {
		there[o.Namespace] = true
	}
	delete(there, "")
	sees, said, err := v.Namespaces(ctx, slices.Collect(maps.Keys(there)))
	part.Sees = func(namespace string) bool { return sees[namespace] }
	return cutNotes(said), err
}

// cutNotes say that an answer is cut to namespaces, and of which that is not known.
func cutNotes(said []string) []api.Note {
	notes := []api.Note{{Severity: api.Info, Code: "Cut", Message: "only objects in namespaces of which you may get dataplanes/explain are listed"}}
	for _, text := range said {
		notes = append(notes, api.Note{Severity: api.Info, Code: "Cut", Message: text})
	}
	return notes
}
