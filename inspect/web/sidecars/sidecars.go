package sidecars

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve"
)

// sidecar is one dataplane of GET /meshes/{mesh}/_sidecars: what a list of very many shows.
type sidecar struct {
	Name string `json:"name"` // NAME, or NAME.NAMESPACE
	// Namespace is the one that Name ends with; empty for none.
	Namespace string        `json:"namespace,omitempty"`
	Services  []string      `json:"services"` // of its inbounds
	State     inspect.State `json:"state"`
	Acked     uint64        `json:"acked"` // the revision that it has confirmed
	Since     *time.Time    `json:"since,omitempty"`
	Version   string        `json:"version,omitempty"` // of its Envoy
	Message   string        `json:"message,omitempty"` // what keeps it from its configuration
}

var sidecarStates = []inspect.State{inspect.StateRefusing, inspect.StateWithheld, inspect.StateMissing, inspect.StateBehind, inspect.StateInSync}

// byState is the parameter that cuts the list.
var byState = endpoint.Parameter{Name: "state", About: "How far the dataplanes follow: one of these; may be repeated", Schema: jsonschema.ListOf(StateSchema)}

// StateSchema describes a state.
var StateSchema = endpoint.OneOf("refusing", "held", "missing", "behind", "in sync")

// sidecarList is a part of the dataplanes of a mesh. States counts those that the filters
// choose, but for that by state.
type sidecarList struct {
	Revision uint64                `json:"revision"`
	Total    int                   `json:"total"`
	States   map[inspect.State]int `json:"states"`
	Items    []sidecar             `json:"items"`
	Next     *string               `json:"next"`
	Notes    []string              `json:"notes,omitempty"` // of what the list is without
}

// sidecars answers a page of rows, chosen by the filters of lists and by state.
func (h *Handlers) sidecars(w http.ResponseWriter, r *http.Request) error {
	mesh := r.PathValue("mesh")
	if err := h.CheckMesh(mesh); err != nil {
		return err
	}
	sel, err := objects.SelectionOf(r.URL.Query())
	if err != nil {
		return err
	}
	want, err := statesOf(r.URL.Query())
	if err != nil {
		return err
	}
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	model := sync.OnceValue(func() *resolve.Reader {
		m, _ := h.Reader(r.Context()) // without one no hosts are named
		return m
	})
	var p sidecarList
	if _, isCut := rights.CutTo(r.Context()); isCut || !sel.Everything() {
		p, err = h.sidecarsChosen(r.Context(), snapshot, mesh, want, sel, model)
	} else {
		p = h.sidecarsOf(snapshot, mesh, want, sel, model)
	}
	if err != nil {
		return err
	}
	p.Revision = snapshot.Revision()
	if end := sel.Offset + len(p.Items); len(p.Items) > 0 && end < p.Total {
		at := objects.NextPage(r, end)
		p.Next = &at
	}
	httpapi.Answer(w, http.StatusOK, p)
	return nil
}

// statesOf are the states that a query asks for; none are all.
func statesOf(query url.Values) (want []inspect.State, err error) {
	for _, text := range query["state"] {
		if text == "" {
			continue
		}
		if !slices.Contains(sidecarStates, inspect.State(text)) {
			return nil, httpapi.BadField("state", strconv.Quote(text)+" is no state; use refusing, held, missing, behind or in sync")
		}
		want = append(want, inspect.State(text))
	}
	slices.Sort(want)
	return slices.Compact(want), nil
}

// sidecarsChosen is a page of those that filters choose and a user sees, each of which is
// looked at.
func (h *Handlers) sidecarsChosen(ctx context.Context, snapshot *snapshot.Snapshot, mesh string, want []inspect.State, sel objects.Selection, model func() *resolve.Reader) (p sidecarList, err error) {
	var chosen []*api.Object
	for o := range snapshot.Of(api.KindDataplane, mesh) {
		if h.Chosen(sel, o) {
			chosen = append(chosen, o)
		}
	}
	p = sidecarList{States: map[inspect.State]int{}, Items: []sidecar{}}
	if chosen, p.Notes, err = rights.Seen(ctx, chosen); err != nil {
		return p, err
	}
	for _, o := range chosen {
		c, _ := h.Sidecars.Sidecar(o.Ref)
		state := c.State()
		p.States[state]++
		if len(want) > 0 && !slices.Contains(want, state) {
			continue
		}
		if p.Total++; p.Total > sel.Offset && len(p.Items) < sel.Size {
			p.Items = append(p.Items, sidecarRowOf(o, &c, model))
		}
	}
	return p, nil
}

// sidecarsOf is a page of all, or of those in some states, of which that page is looked at, and
// those before it where one of the states is that of which nobody keeps who is in it.
func (h *Handlers) sidecarsOf(snapshot *snapshot.Snapshot, mesh string, want []inspect.State, sel objects.Selection, model func() *resolve.Reader) sidecarList {
	counts, in := h.FleetCounts.States(snapshot, mesh, want)
	p := sidecarList{States: counts, Items: []sidecar{}}
	for _, state := range want {
		p.Total += counts[state]
	}
	if len(want) == 0 {
		p.Total = snapshot.Count(api.KindDataplane, mesh)
	}
	left, looked := sel.Offset, 0
	add := func(o *api.Object, c *inspect.Sidecar) {
		if left--; left < 0 {
			p.Items = append(p.Items, sidecarRowOf(o, c, model))
		}
	}
	if len(want) > 0 && !slices.Contains(want, inspect.StateInSync) {
		rest := in[min(sel.Offset, len(in)):]
		for _, ref := range rest[:min(sel.Size, len(rest))] {
			if o, ok := snapshot.Get(ref); ok {
				c, _ := h.Sidecars.Sidecar(ref)
				p.Items = append(p.Items, sidecarRowOf(o, &c, model))
			}
		}
		return p
	}
	for o := range snapshot.Of(api.KindDataplane, mesh) {
		if len(p.Items) == sel.Size {
			break
		}
		if looked++; len(want) == 0 && left > 0 {
			left--
			continue
		}
		if c, _ := h.Sidecars.Sidecar(o.Ref); len(want) == 0 || slices.Contains(want, c.State()) {
			add(o, &c)
		}
	}
	if h.Listed != nil {
		h.Listed(looked)
	}
	return p
}

// sidecarRowOf asks for the model where the Envoy takes long for something.
func sidecarRowOf(o *api.Object, c *inspect.Sidecar, model func() *resolve.Reader) sidecar {
	row := sidecar{Name: o.FullName(), Namespace: o.Namespace, Services: []string{}, State: c.State(), Acked: c.Acked}
	switch row.State {
	case inspect.StateRefusing:
		row.Message = c.Refusal.Type + ": " + c.Refusal.Message
	case inspect.StateWithheld:
		row.Message = c.Note
	}
	if len(c.Unconfirmed) > 0 && row.State != inspect.StateRefusing {
		if why := c.WaitsFor(model()); why != "" {
			row.Message = strings.TrimPrefix(row.Message+"; "+why, "; ")
		}
	}
	if c.Client != "" {
		row.Since, row.Version = &c.Since, strings.TrimSpace(c.Client+" "+c.Version)
	}
	dp, ok := o.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil {
		return row
	}
	names := map[string]bool{}
	for _, in := range dp.Networking.Inbound {
		names[cmp.Or(in.Tags[api.TagService], in.Name)] = true
	}
	delete(names, "")
	row.Services = slices.AppendSeq(row.Services, maps.Keys(names))
	slices.Sort(row.Services)
	return row
}
