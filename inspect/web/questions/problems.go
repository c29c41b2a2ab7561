package questions

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
)

func (h *Handlers) problems(w http.ResponseWriter, r *http.Request) error {
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
	live := conditions.OfRunning(running)
	if h.Traffic != nil {
		live = append(live, h.Traffic(r.Context(), m)...)
	}
	owners := conditions.Problems(m, h.Fleet.Troubled(), h.Problems(), live...)
	owners = slices.DeleteFunc(owners, func(o conditions.ProblemOwner) bool { return !strings.Contains(o.Owner, sel.Name) })
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
func seenOwners(ctx context.Context, owners []conditions.ProblemOwner) ([]conditions.ProblemOwner, []api.Note, error) {
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
	return slices.DeleteFunc(owners, func(o conditions.ProblemOwner) bool { return o.Ref == nil || !sees[o.Ref.Namespace] }), cutNotes(said), err
}

// problemList is all that is wrong.
type problemList struct {
	Total  int                       `json:"total"`  // of problems
	Owners int                       `json:"owners"` // how many there are, of which Items may be a part
	Items  []conditions.ProblemOwner `json:"items"`
	Notes  []api.Note                `json:"notes,omitempty"` // about what is not told
	Next   *string                   `json:"next,omitempty"`  // the address of those that follow
}
