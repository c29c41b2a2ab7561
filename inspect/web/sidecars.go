package web

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
)

// sidecarRow is one dataplane of GET /meshes/{mesh}/_sidecars: what a list of very many shows.
type sidecarRow struct {
	Name     string       `json:"name"`     // NAME, or NAME.NAMESPACE
	Services []string     `json:"services"` // of its inbounds
	State    sidecarState `json:"state"`
	Acked    uint64       `json:"acked"` // the revision that it has confirmed
	Since    *time.Time   `json:"since,omitempty"`
	Version  string       `json:"version,omitempty"` // of its Envoy
	Message  string       `json:"message,omitempty"` // what keeps it from its configuration
}

// sidecarState is how far a dataplane follows; GET /meshes/{mesh}/_status counts the same.
type sidecarState string

// The states, from the worst.
const (
	refusing sidecarState = "refusing" // its Envoy did not take what it was sent
	held     sidecarState = "held"     // something keeps it from its configuration
	unseen   sidecarState = "missing"  // it is not connected
	behind   sidecarState = "behind"   // it has not confirmed yet what it was sent
	inSync   sidecarState = "in sync"
)

var sidecarStates = []sidecarState{refusing, held, unseen, behind, inSync}

// byState is the parameter that cuts the list.
var byState = parameter{name: "state", about: "How far the dataplanes follow", schema: knownTypes[reflect.TypeFor[sidecarState]()]}

// sidecarPage is a part of the dataplanes of a mesh. States counts those that the filters
// choose, but for that by state.
type sidecarPage struct {
	Revision uint64               `json:"revision"`
	Total    int                  `json:"total"`
	States   map[sidecarState]int `json:"states"`
	Items    []sidecarRow         `json:"items"`
	Next     *string              `json:"next"`
	Notes    []string             `json:"notes,omitempty"` // of what the list is without
}

// sidecars answers a page of rows, chosen by the filters of lists and by state.
func (s *server) sidecars(w http.ResponseWriter, r *http.Request) error {
	mesh, want := r.PathValue("mesh"), sidecarState(r.URL.Query().Get("state"))
	if err := s.meshKnown(mesh); err != nil {
		return err
	}
	sel, err := selectionOf(r.URL.Query())
	if err != nil {
		return err
	}
	if want != "" && !slices.Contains(sidecarStates, want) {
		return badField("state", strconv.Quote(string(want))+" is no state; use refusing, held, missing, behind or in sync")
	}
	snapshot := s.there(r.Context(), api.KindDataplane)
	var chosen []*api.Object
	for o := range snapshot.Of(api.KindDataplane, mesh) {
		if s.chosen(sel, o) {
			chosen = append(chosen, o)
		}
	}
	p := sidecarPage{Revision: snapshot.Revision(), States: map[sidecarState]int{}, Items: []sidecarRow{}}
	if chosen, p.Notes, err = seen(r.Context(), chosen); err != nil {
		return err
	}
	for _, o := range chosen {
		c, _ := s.Sidecars.Sidecar(o.Ref)
		state, message := stateOf(&c)
		p.States[state]++
		if want != "" && state != want {
			continue
		}
		if p.Total++; p.Total > sel.offset && len(p.Items) < sel.size {
			p.Items = append(p.Items, sidecarRowOf(o, &c, state, message))
		}
	}
	if end := sel.offset + len(p.Items); len(p.Items) > 0 && end < p.Total {
		at := nextPage(r, end)
		p.Next = &at
	}
	answer(w, http.StatusOK, p)
	return nil
}

// stateOf is how far a dataplane follows, and what keeps it where something does.
func stateOf(c *inspect.Sidecar) (sidecarState, string) {
	switch {
	case !c.Connected:
		return unseen, ""
	case c.Refusal != nil:
		return refusing, c.Refusal.Type + ": " + c.Refusal.Message
	case c.InSync:
		return inSync, ""
	case c.Note != "":
		return held, c.Note
	}
	return behind, ""
}

func sidecarRowOf(o *api.Object, c *inspect.Sidecar, state sidecarState, message string) sidecarRow {
	row := sidecarRow{Name: o.FullName(), Services: []string{}, State: state, Message: message, Acked: c.Acked}
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
