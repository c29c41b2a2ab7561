package requests

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

// AskAgent writes what the agent of a dataplane answers to a question of package attach, as it comes.
type AskAgent func(ctx context.Context, dp api.Ref, path string, w io.Writer) error

var (
	ofStatus = endpoint.Parameter{Name: "status", About: "Only requests that were answered so: a number, as 503; 0 for no answer at all; a class, as 5xx; or failed", Schema: endpoint.Text(8)}
	ofRoute  = endpoint.Parameter{Name: "route", About: "Only requests that a rule of this route took: NAME, or KIND/NAME", Schema: endpoint.Text(253)}
	ofTo     = endpoint.Parameter{Name: "to", About: "Only requests to this service: NAME, or NAME:PORT", Schema: endpoint.Text(253)}
	last     = endpoint.Parameter{Name: "last", About: "Only requests that began so long ago, as 10m, or later", Schema: endpoint.Text(16)}
	limit    = endpoint.Parameter{Name: "limit", About: "How many requests there are at most, the latest; 50 where it is not given", Schema: endpoint.Schema{"type": "integer", "minimum": 1, "maximum": mostRequests}}
)

// Bounds of an answer, and of what one sidecar answers.
const (
	mostRequests     = 256
	usualRequests    = 50
	largestOfSidecar = 4 << 20
)

// RequestsAnswer are requests that sidecars keep, the latest first.
type RequestsAnswer struct {
	Items []seen.Record `json:"items"`
	// Kept is since when the sidecar keeps them; absent where several were asked, or where it has none.
	Kept    *time.Time `json:"kept,omitempty"`
	Unknown Unknown    `json:"unknown"`
	Notes   []string   `json:"notes,omitempty"` // of what the answer is without
}

// wanted is which requests are asked for.
type wanted struct {
	attach.RequestsQuestion
	To    string
	After time.Time
	Limit int
}

// wantedOf reads the parameters.
func wantedOf(q url.Values) (x wanted, err error) {
	var wrong []httpapi.ProblemDetails
	x.Status, x.Route, x.To, x.Limit = q.Get(ofStatus.Name), q.Get(ofRoute.Name), q.Get(ofTo.Name), usualRequests
	if !attach.IsStatus(x.Status) {
		wrong = append(wrong, badStatus(x.Status))
	}
	if text := q.Get(last.Name); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			wrong = append(wrong, httpapi.BadField(last.Name, fmt.Sprintf("%q is no time; write one as 10m", text)))
		}
		x.After = time.Now().Add(-d)
	}
	if n, err := strconv.Atoi(q.Get(limit.Name)); err == nil { // its schema is held before
		x.Limit = n
	}
	if len(wrong) > 0 {
		return x, httpapi.BadFields(wrong)
	}
	return x, nil
}

func badStatus(text string) httpapi.ProblemDetails {
	return httpapi.BadField(ofStatus.Name, fmt.Sprintf("%q is no status; write a number as 503, 0 for no answer, a class as 5xx, or failed", text))
}

// ofDataplane answers what one sidecar keeps.
func (h *Handlers) ofDataplane(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := h.ReaderAt(r, api.KindDataplane)
	if err != nil {
		return err
	}
	of, err := inspect.Dataplane(m, ref)
	if err != nil {
		return httpapi.Unknown(err)
	}
	q, err := wantedOf(r.URL.Query())
	if err != nil {
		return err
	}
	if q.To != "" {
		if q.Tables = tablesOf(of, q.To); len(q.Tables) == 0 {
			return httpapi.BadField(ofTo.Name, fmt.Sprintf("dataplane %s calls no %s; `weft explain dataplane` lists what it calls", ref.FullName(), q.To))
		}
	}
	list, kept, err := h.kept(r.Context(), of, q)
	if err != nil {
		return sidecars.CannotAsk(err)
	}
	out := RequestsAnswer{Items: latest(list, q.Limit), Unknown: Unknown{Replicas: []string{}}}
	if !kept.IsZero() {
		out.Kept = &kept
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// kept are the requests that one sidecar keeps, their paths as the mesh has them told, and since when.
func (h *Handlers) kept(ctx context.Context, of *effective.Resolved, q wanted) (list []seen.Record, since time.Time, err error) {
	paths := h.paths(ctx, of.Ref.Mesh)
	q.Paths = paths == api.PathsFull
	s, err := h.ask(ctx, of.Ref, q.RequestsQuestion)
	if err != nil {
		return nil, since, err
	}
	for i := range s.Requests {
		if s.Requests[i].Began.Before(q.After) {
			continue
		}
		r := seen.Of(of, &s.Requests[i], h.isRoute)
		if paths == api.PathsNone {
			r.Path, r.Match = "", ""
		}
		list = append(list, r)
	}
	return list, s.Kept, nil
}

func (h *Handlers) isRoute(kind string) bool {
	t, _ := h.Catalog.Type(kind)
	return t.Route
}

// paths is what a mesh has told of paths; where it does not say so, the match of the rule stands for them.
func (h *Handlers) paths(ctx context.Context, mesh string) string {
	o, _ := h.SnapshotOf(ctx, api.KindMesh).Get(api.Ref{Kind: api.KindMesh, Name: mesh})
	if t := api.TelemetryOf(o); t != nil && t.Paths != "" {
		return t.Paths
	}
	return api.PathsMatch
}

// ask asks the agent of a dataplane.
func (h *Handlers) ask(ctx context.Context, dp api.Ref, q attach.RequestsQuestion) (s attach.SeenRequests, err error) {
	if h.Ask == nil {
		return s, attach.ErrNoStream
	}
	text := &bounded{left: largestOfSidecar}
	if err := h.Ask(ctx, dp, q.String(), text); err != nil {
		if strings.Contains(err.Error(), "no question") {
			return s, fmt.Errorf("its agent is older than this control plane, and keeps no requests: %w", err)
		}
		return s, err
	}
	return attach.ReadSeenRequests(text.Bytes())
}

// bounded is what an agent says, which is not believed to be short.
type bounded struct {
	bytes.Buffer
	left int
}

// Write refuses what is too much.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, attach.ErrTooLarge
	}
	return b.Buffer.Write(p)
}

// tablesOf are the virtual hosts by which a dataplane calls a service.
func tablesOf(of *effective.Resolved, service string) (out []string) {
	for _, o := range of.Outbounds {
		if o.Table != nil && (o.Destination.ID == service || o.Destination.Name == service) && !slices.Contains(out, o.Destination.ID) {
			out = append(out, o.Destination.ID)
		}
	}
	return out
}

// latest are the latest n, the latest first.
func latest(list []seen.Record, n int) []seen.Record {
	slices.SortStableFunc(list, func(a, b seen.Record) int { // whoever answers first
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Dataplane, b.Dataplane))
	})
	return append([]seen.Record{}, list[:min(n, len(list))]...)
}
