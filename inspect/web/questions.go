package web

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// questionHandlers answer what applies to dataplanes, and how objects fare.
type questionHandlers struct {
	*objects.Source
	Sidecars sidecars.Sidecars
	Census   sidecars.Census
	// Ask writes the answer of the Envoy of a dataplane; nil where none can be asked.
	Ask func(ctx context.Context, dp api.Ref, path string, w io.Writer) error
	// Problems are documents that are not served as they were written.
	Problems func() []*api.Violation
	// Unknown says what is not known now; nil where all is.
	Unknown func() []api.Note
	// Running is what is wrong with what runs; nil knows of nothing.
	Running func() []api.Note
	Zone    string
}

func (h *questionHandlers) questionRoutes() []endpoint.Endpoint {
	const dp, object = "/meshes/{mesh}/dataplanes/{name}", "/meshes/{mesh}/{plural}/{name}"
	return []endpoint.Endpoint{
		endpoint.New("GET "+dp+"/_explain", h.explain, "Everything that applies to a dataplane, and why", endpoint.Says[explain.Explanation](toService, partOfID, explainSize, endpoint.PageOffset, h.aboutObject(), inBrief, endpoint.InNamespace)),
		endpoint.New("POST "+dp+"/_simulate", h.simulate, "What would happen to a request", endpoint.Reads[sim.Request](endpoint.Says[sim.Verdict](endpoint.InNamespace))),
		endpoint.New("GET "+object+"/_explain", h.explainObject, "Where a policy or route takes part, and where not", endpoint.Says[conditions.ObjectExplanation](endpoint.InNamespace)),
		endpoint.New("GET "+object+"/_resources/dataplanes", h.selected, "The dataplanes that a policy or route selects", endpoint.Lists[*kuma.Meta](endpoint.InNamespace)),
		endpoint.New("GET "+object+"/dataplanes", h.attached, "The same, in the older form", endpoint.Lists[kuma.AttachedDataplane](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/_status", h.status, "Conditions of policies, routes and documents about identities, and how far sidecars follow", endpoint.Says[conditions.Overview](endpoint.StatusSize, endpoint.PageOffset, endpoint.PartOfName, byKind, byFare)),
		endpoint.New("GET /meshes/{mesh}/_permissions", h.permissions, "Who may call what, and which document says so", endpoint.Says[permissions.Permissions](fromCaller, toCalled, withCounts)),
		endpoint.New("GET /_problems", h.problems, "Everything that is wrong, by who has to act", endpoint.Says[problemList](endpoint.StatusSize, endpoint.PageOffset, endpoint.PartOfName)),
	}
}

// attachable is the object that the path names, which must be a policy or route,
// and the model that holds.
func (h *questionHandlers) attachable(r *http.Request) (*resolve.Reader, api.Ref, error) {
	t, err := h.TypeAt(r)
	if err != nil {
		return nil, api.Ref{}, err
	}
	if !t.Policy && !t.Route {
		return nil, api.Ref{}, httpapi.Problem{Status: http.StatusBadRequest, Title: "Bad request", Detail: t.Name + " is neither a policy nor a route; ask about one of those"}
	}
	return h.ReaderAt(r, t.Name)
}

func (h *questionHandlers) explainObject(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := h.attachable(r)
	if err != nil {
		return err
	}
	e, err := conditions.ExplainObject(m, ref, sidecars.KnownBy(h.Census, h.Sidecars, m, ref.Mesh), h.Problems()...)
	if err != nil {
		return httpapi.Unknown(err)
	}
	httpapi.Answer(w, http.StatusOK, e)
	return nil
}

// selected answers a page of the dataplanes that an object selects; those of a
// service are who answers for it.
func (h *questionHandlers) selected(w http.ResponseWriter, r *http.Request) error {
	if t, _ := h.Catalog.ByPlural(r.PathValue("plural")); t.Name == api.KindMeshService {
		return h.serviceDataplanes(w, r)
	}
	m, list, err := h.selection(r)
	if err != nil {
		return err
	}
	return h.metas(w, r, m, list)
}

func (h *questionHandlers) selection(r *http.Request) (*resolve.Reader, []api.Ref, error) {
	m, ref, err := h.attachable(r)
	if err != nil {
		return nil, nil, err
	}
	list, err := kuma.Dataplanes(m, ref)
	return m, list, httpapi.Unknown(err)
}

// attached answers the same page in the form of older clients.
func (h *questionHandlers) attached(w http.ResponseWriter, r *http.Request) error {
	_, list, err := h.selection(r)
	if err != nil {
		return err
	}
	p, err := objects.PageOf(r, list, api.Ref.FullName)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, httpapi.Page[kuma.AttachedDataplane]{Total: p.Total, Items: kuma.AttachedDataplanes(p.Items), Next: p.Next})
	return nil
}

// notKnown are the notes about what is not known now.
func (h *questionHandlers) notKnown() []api.Note {
	if h.Unknown == nil {
		return nil
	}
	return h.Unknown()
}

func (h *questionHandlers) problems(w http.ResponseWriter, r *http.Request) error {
	m, err := h.Reader(r.Context())
	if err != nil {
		return err
	}
	q := r.URL.Query()
	sel, err := objects.SelectionOf(q)
	if err != nil {
		return err
	}
	running := h.notKnown()
	if h.Running != nil {
		running = append(running, h.Running()...)
	}
	owners := conditions.Problems(m, h.Census.Troubled(), h.Problems(), running...)
	owners = slices.DeleteFunc(owners, func(o conditions.Owner) bool { return !strings.Contains(o.Owner, sel.Name) })
	owners, notes, err := seenOwners(r.Context(), owners)
	if err != nil {
		return err
	}
	total := 0
	for _, o := range owners {
		total += len(o.Problems)
	}
	out := problemList{Total: total, Owners: len(owners), Notes: notes, Items: owners[min(sel.Offset, len(owners)):]}
	if q.Get(endpoint.StatusSize.Name) != "" {
		out.Items = out.Items[:min(sel.Size, len(out.Items))]
	}
	if end := sel.Offset + len(out.Items); len(out.Items) > 0 && end < len(owners) {
		next := objects.NextPage(r, end)
		out.Next = &next
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// seenOwners cuts what is wrong to the namespaces of which who asks is told: what is wrong with a whole
// mesh, with a file or with the control plane is for those who are told of everything.
func seenOwners(ctx context.Context, owners []conditions.Owner) ([]conditions.Owner, []api.Note, error) {
	v, isCut := rights.CutTo(ctx)
	if !isCut {
		return owners, nil, nil
	}
	there := map[string]bool{}
	for _, o := range owners {
		if o.Ref != nil && o.Ref.Namespace != "" {
			there[o.Ref.Namespace] = true
		}
	}
	sees, said, err := v.Namespaces(ctx, slices.Collect(maps.Keys(there)))
	return slices.DeleteFunc(owners, func(o conditions.Owner) bool { return o.Ref == nil || !sees[o.Ref.Namespace] }), cutNotes(said), err
}

// problemList is all that is wrong.
type problemList struct {
	Total  int                `json:"total"`  // of problems
	Owners int                `json:"owners"` // how many there are, of which Items may be a part
	Items  []conditions.Owner `json:"items"`
	Notes  []api.Note         `json:"notes,omitempty"` // about what is not told
	Next   *string            `json:"next,omitempty"`  // the address of those that follow
}

// conditionsOf are the conditions of a policy, route or document about identities; nil for other kinds,
// unless their text is refused.
func (h *documentHandlers) conditionsOf(ctx context.Context, o *api.Object) (any, error) {
	if t, _ := h.Catalog.Type(o.Kind); !t.Policy && !t.Route && !conditions.TellsIdentity(o) {
		if c, ok := conditions.RefusedOf(o.Ref, true, h.Problems()); ok {
			return []conditions.Condition{c}, nil
		}
		return nil, nil
	}
	status, err := h.statusOf(ctx, o)
	return status.Conditions, err
}

// statusOf is how a route or policy fares.
func (h *documentHandlers) statusOf(ctx context.Context, o *api.Object) (conditions.Status, error) {
	m, err := h.Reader(ctx)
	if err != nil {
		return conditions.Status{}, err
	}
	status, err := conditions.StatusOf(m, o.Ref, h.Sidecars.Sidecar, h.Problems()...)
	if errors.Is(err, inspect.ErrNotFound) {
		err = httpapi.NotFound() // deleted a moment ago
	}
	return status, err
}
