// Package requests answers what sidecars have seen of requests: how many there are, how they end and how
// long they take.
package requests

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/inspect/web/sidecars"
)

// TrafficSource sums what sidecars counted: those of this replica and of its peers. The replicas that did not
// answer are named.
type TrafficSource interface {
	Traffic(context.Context, traffic.TrafficQuery) (sums traffic.PartialSums, silent []string)
}

// Handlers answer questions for requests.
type Handlers struct {
	*objects.Finder
	Sidecars    sidecars.Sidecars
	FleetCounts sidecars.FleetCounts
	Traffic     TrafficSource // nil where nothing is counted
	Ask         AskAgent      // nil where no agent can be asked
	Log         *slog.Logger
	Events      *events.Bus // that is told of taps; nil tells nobody
	// Lacks is the answer to a user who lacks a right.
	Lacks func(rights.User, rights.AccessRequest) error

	tapping atomic.Int32 // taps that run
}

var (
	by = endpoint.Parameter{Name: "by", About: "What is summed to one item: all that is sent to a service; what one service sends to another; what a route, or one rule, takes of it",
		Schema: endpoint.OneOf(string(traffic.ByService), string(traffic.ByCaller), string(traffic.ByRoute), string(traffic.ByRule))}
	of      = endpoint.Parameter{Name: "of", About: "A service: only what it sends and what is sent to it", Schema: endpoint.Text(253)}
	window  = endpoint.Parameter{Name: "window", About: "Of which time the sums are; 1m where it is not given", Schema: endpoint.OneOf("1m", "15m")}
	minutes = endpoint.Parameter{Name: "minutes", About: "Also the requests of each of the last 15 minutes; of one in which no sidecar told of any there is nothing", Schema: endpoint.Schema{"type": "boolean"}}
	sorted  = endpoint.Parameter{Name: "sort", About: "What comes first: the highest rate, or the most failed, denied or retried requests, or the slowest; rate where it is not given",
		Schema: endpoint.OneOf(slices.Sorted(maps.Keys(orders))...)}
)

// Endpoints are the sums of traffic.
func (h *Handlers) Endpoints() []endpoint.Operation {
	return []endpoint.Operation{
		endpoint.New("GET /meshes/{mesh}/_traffic", h.traffic, "How many requests there were, how they ended and how long they took, as sidecars counted them",
			endpoint.Says[Answer](by, of, window, minutes, sorted, endpoint.PageSize, endpoint.PageOffset, endpoint.PartOfName)),
		endpoint.New("GET /meshes/{mesh}/_requests", h.ofMesh, "Requests that failed lately, of sidecars that reported failures, with the rules and policies behind them",
			endpoint.Says[RequestsAnswer](of, ofTo, ofRoute, ofStatus, last, limit)),
		endpoint.New("GET /meshes/{mesh}/_requests/{id}", h.why, "One request that failed, by its x-request-id: as both sides saw it, what explains how it ended, and what the simulator says of it",
			endpoint.Says[Why]()),
		endpoint.New("GET /meshes/{mesh}/dataplanes/{name}/_requests", h.ofDataplane, "Requests that failed lately, as one sidecar saw them", endpoint.Says[RequestsAnswer](ofTo, ofRoute, ofStatus, last, limit, endpoint.InNamespace)),
		endpoint.New("POST /meshes/{mesh}/_taps", h.tap, "Watches live requests of some sidecars, as server-sent events: begin, request, dropped, silent, end",
			endpoint.Reads[TapRequest](endpoint.Form{}.OrSays(endpoint.OfEvents, reflect.TypeFor[seen.Record]()))),
	}
}

// Answer is a part of the sums of a mesh.
type Answer struct {
	Since   time.Time      `json:"since"`  // the sums began
	Window  string         `json:"window"` // 1m or 15m
	Total   int            `json:"total"`
	Items   []traffic.Item `json:"items"`
	Next    *string        `json:"next"`
	Unknown Unknown        `json:"unknown"`
	Notes   []string       `json:"notes,omitempty"` // of what the sums are without
}

// Unknown is of whom the sums are without: connected sidecars that report nothing, and replicas that do
// not answer.
type Unknown struct {
	Sidecars int      `json:"sidecars"`
	Replicas []string `json:"replicas"`
}

func (h *Handlers) traffic(w http.ResponseWriter, r *http.Request) error {
	if h.Traffic == nil {
		return httpapi.NotFound()
	}
	query := r.URL.Query()
	sel, err := objects.SelectionOf(query)
	if err != nil {
		return err
	}
	q, err := questionOf(r.PathValue("mesh"), query)
	if err != nil {
		return err
	}
	if err := h.CheckMesh(q.Mesh); err != nil {
		return err
	}
	out := Answer{Window: cmp.Or(query.Get(window.Name), "1m"), Items: []traffic.Item{}}
	connected, notes, err := h.connected(r.Context(), &q)
	if err != nil {
		return err
	}
	sums, silent := h.Traffic.Traffic(r.Context(), q)
	sums.Items = slices.DeleteFunc(sums.Items, func(i traffic.Item) bool { return !i.Named(sel.Name) })
	out.Since, out.Total, out.Notes = sums.Since, len(sums.Items), notes
	out.Unknown = Unknown{max(0, connected-sums.Sidecars), append([]string{}, silent...)}
	if order := orders[query.Get(sorted.Name)]; order != nil {
		slices.SortStableFunc(sums.Items, func(a, b traffic.Item) int { return cmp.Compare(order(&b), order(&a)) })
	}
	rest := sums.Items[min(sel.Offset, len(sums.Items)):]
	out.Items = append(out.Items, rest[:min(sel.Size, len(rest))]...)
	if end := sel.Offset + len(out.Items); len(out.Items) > 0 && end < out.Total {
		next := objects.NextPage(r, end)
		out.Next = &next
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// questionOf reads the parameters.
func questionOf(mesh string, q url.Values) (out traffic.TrafficQuery, err error) {
	out = traffic.TrafficQuery{Mesh: mesh, By: traffic.By(cmp.Or(q.Get(by.Name), string(traffic.ByService))), Of: q.Get(of.Name), Window: traffic.Minute}
	if q.Get(window.Name) == "15m" {
		out.Window = traffic.Quarter
	}
	out.Minutes, err = endpoint.Flag(q, minutes.Name)
	return out, err
}

// orders are by what items are sorted, the largest first.
var orders = map[string]func(*traffic.Item) float64{
	"rate":    func(i *traffic.Item) float64 { return i.PerSecond },
	"failed":  func(i *traffic.Item) float64 { return i.Failed },
	"denied":  func(i *traffic.Item) float64 { return i.Denied },
	"retried": func(i *traffic.Item) float64 { return i.Retried },
	"latency": (*traffic.Item).Slowness,
}

// connected is how many sidecars are connected that who asks may see, and cuts q to those.
func (h *Handlers) connected(ctx context.Context, q *traffic.TrafficQuery) (n int, notes []string, err error) {
	snapshot := h.SnapshotOf(ctx, api.KindDataplane)
	v, isCut := rights.CutTo(ctx)
	if !isCut {
		counts, _ := h.FleetCounts.States(snapshot, q.Mesh, nil)
		for state, of := range counts {
			if state != inspect.StateMissing {
				n += of
			}
		}
		return n, nil, nil
	}
	there := map[string]bool{}
	for o := range snapshot.Of(api.KindDataplane, q.Mesh) {
		there[o.Namespace] = true
	}
	delete(there, "")
	sees, notes, err := v.Namespaces(ctx, slices.Sorted(maps.Keys(there)))
	if err != nil {
		return 0, nil, err
	}
	q.Cut = true
	for namespace, may := range sees {
		if may {
			q.Sees = append(q.Sees, namespace)
		}
	}
	slices.SortFunc(q.Sees, strings.Compare)
	for o := range snapshot.Of(api.KindDataplane, q.Mesh) {
		if sees[o.Namespace] {
			if c, _ := h.Sidecars.Sidecar(o.Ref); c.State() != inspect.StateMissing {
				n++
			}
		}
	}
	return n, notes, nil
}
