package requests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// How many sidecars are asked for one answer, how many at once, and how long.
const (
	mostAsked = 100
	askedOnce = 8
	askFor    = 5 * time.Second
)

// ofMesh answers which requests failed lately, of sidecars that who asks may see.
func (h *Handlers) ofMesh(w http.ResponseWriter, r *http.Request) error {
	q, err := wantedOf(r.URL.Query())
	if err != nil {
		return err
	}
	out, err := h.failing(r, q, r.URL.Query().Get(of.Name))
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// failing asks sidecars, those of one service where it is named: first those that reported failures.
func (h *Handlers) failing(r *http.Request, q wanted, service string) (out RequestsAnswer, err error) {
	if h.Traffic == nil {
		return out, httpapi.NotFound()
	}
	mesh := r.PathValue("mesh")
	if err := h.CheckMesh(mesh); err != nil {
		return out, err
	}
	m, err := h.Reader(r.Context())
	if err != nil {
		return out, err
	}
	sums, silent := h.Traffic.Traffic(r.Context(), traffic.TrafficQuery{Mesh: mesh, Failing: true})
	out.Unknown.Replicas = append([]string{}, silent...)
	all := candidates(m, mesh, service, sums.Failing)
	if all, out.Notes, err = seenBy(r.Context(), all); err != nil {
		return out, err
	}
	if more := len(all) - mostAsked; more > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d sidecars were not asked, of those that reported no failure or the earliest; name a service or a dataplane", more))
		all = all[:mostAsked]
	}
	list, unanswered := h.askAll(r.Context(), all, q)
	out.Items, out.Unknown.Sidecars = latest(list, q.Limit), unanswered
	return out, nil
}

// candidates are the dataplanes of a mesh, of one service where it is named: those that reported failures
// first, and then the others, which may have some to report.
func candidates(m *resolve.Reader, mesh, service string, failing []traffic.FailingSidecar) (all []*effective.Resolved) {
	there := map[api.Ref]bool{}
	take := func(of *effective.Resolved) {
		if !there[of.Ref] && (service == "" || of.Service() == service) {
			there[of.Ref] = true
			all = append(all, of)
		}
	}
	for _, f := range failing {
		if of, ok := m.Dataplane(f.Dataplane); ok {
			take(of)
		}
	}
	for of := range m.Dataplanes(mesh) {
		take(of)
	}
	return all
}

// seenBy are the dataplanes that who asks may see.
func seenBy(ctx context.Context, all []*effective.Resolved) ([]*effective.Resolved, []string, error) {
	v, isCut := rights.CutTo(ctx)
	if !isCut {
		return all, nil, nil
	}
	there := map[string]bool{}
	for _, of := range all {
		there[of.Ref.Namespace] = true
	}
	var names []string
	for name := range there {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	sees, notes, err := v.Namespaces(ctx, names)
	return slices.DeleteFunc(all, func(of *effective.Resolved) bool { return !sees[of.Ref.Namespace] }), notes, err
}

// askAll asks some sidecars at once, and counts those that do not answer in time.
func (h *Handlers) askAll(ctx context.Context, all []*effective.Resolved, q wanted) (list []seen.Record, unanswered int) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var mu sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(askedOnce)
	for _, of := range all {
		own := q
		if q.To != "" {
			if own.Tables = tablesOf(of, q.To); len(own.Tables) == 0 {
				continue
			}
		}
		asking.Go(func() error {
			some, _, err := h.kept(ctx, of, own)
			mu.Lock()
			defer mu.Unlock()
			list = append(list, some...)
			if err != nil && !errors.Is(err, attach.ErrNoStream) {
				unanswered++
			}
			return nil
		})
	}
	_ = asking.Wait() // nobody fails
	return list, unanswered
}

// Why is one request, as both sides saw it, and what explains how it ended.
type Why struct {
	// Requests are the lines of it, those of callers first: of a request whose id its client chose there
	// may be several.
	Requests []seen.Record `json:"requests"`
	// Simulated is what the simulator says of the first of them, as the documents are now.
	Simulated *seen.SimulatedRecord `json:"simulated,omitempty"`
	Unknown   Unknown               `json:"unknown"`
	Notes     []string              `json:"notes,omitempty"`
}

// why answers for one request, by its id.
func (h *Handlers) why(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	found, err := h.failing(r, wanted{RequestsQuestion: attach.RequestsQuestion{ID: id}, Limit: mostRequests}, "")
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		p := httpapi.NotFound()
		p.Detail = fmt.Sprintf("no sidecar keeps a failed request with the id %q: each keeps its last 256 for as long as it runs, and of many at once a sample", id)
		return p
	}
	slices.SortStableFunc(found.Items, func(a, b seen.Record) int {
		return cmp.Or(strings.Compare(b.Side, a.Side), a.Time.Compare(b.Time), strings.Compare(a.Dataplane, b.Dataplane)) // who called first
	})
	out := Why{Requests: found.Items, Unknown: found.Unknown, Notes: found.Notes}
	m, err := h.Reader(r.Context())
	if err != nil {
		return err
	}
	out.Simulated = simulated(m, dataplaneCalled(m, r.PathValue("mesh"), out.Requests[0].Dataplane), &out.Requests[0])
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// dataplaneCalled is the dataplane of a full name.
func dataplaneCalled(m *resolve.Reader, mesh, name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name}.Resolve(func(ref api.Ref) bool { _, ok := m.Dataplane(ref); return ok })
}

// simulated is what the simulator says of a request that a caller's sidecar saw; nil for others.
func simulated(m *resolve.Reader, dp api.Ref, r *seen.Record) *seen.SimulatedRecord {
	if r.Side != seen.SideCaller || r.Authority == "" {
		return nil
	}
	out := &seen.SimulatedRecord{Dataplane: r.Dataplane, Method: r.Method, URL: (&url.URL{Scheme: "http", Host: r.Authority, Path: cmp.Or(r.Path, "/")}).String()}
	if r.Path == "" {
		out.Unknown = []string{"the path was not told: the Mesh has telemetry.paths of match or none"}
		return out
	}
	v, err := sim.Run(m, dp, wire.Request{Method: r.Method, URL: out.URL})
	if err != nil {
		out.Unknown = []string{err.Error()}
		return out
	}
	out.Unknown = append(v.Unknown, "headers other than the host were not told")
	if len(v.Branches) == 0 {
		return out
	}
	b := v.Branches[0]
	out.Outcome, out.Status = string(b.Outcome), b.Status
	if b.Route != nil && len(b.Route.Origins) > 0 {
		o := b.Route.Origins[len(b.Route.Origins)-1]
		out.Rule = &seen.ActingDocument{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, RuleName: o.RuleName, Field: string(o.Field)}
	}
	out.SameRule = (out.Rule == nil) == (r.Rule == nil) && (r.Rule == nil || *r.Rule == *out.Rule)
	return out
}
