package requests

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

// Bounds of a tap (spec/telemetry.md L8).
const (
	mostTaps      = 4 // at once in a process
	mostTapped    = 50
	mostPerSecond = 2000
	tapUsually    = time.Minute
	tapAtMost     = 10 * time.Minute
	tapEvery      = time.Second
	tapPatience   = 3 * time.Second // for one answer of a sidecar
)

// TapRequest is which live requests are watched.
type TapRequest struct {
	// Dataplanes are those whose sidecars are watched; or Service has all of its own.
	Dataplanes []string `json:"dataplanes,omitempty"`
	Service    string   `json:"service,omitempty"`
	To         string   `json:"to,omitempty"`
	Route      string   `json:"route,omitempty"`
	Status     string   `json:"status,omitempty"`
	// For is how long, a minute where it is not given, and ten at most.
	For api.Duration `json:"for,omitzero"`
}

// TapBegin is the first event of a tap.
type TapBegin struct {
	Dataplanes []string  `json:"dataplanes"`
	Until      time.Time `json:"until"`
	Notes      []string  `json:"notes,omitempty"`
}

// TapLoss is how many requests of a sidecar were not told, since there were too many in a second.
type TapLoss struct {
	Dataplane string `json:"dataplane"`
	Dropped   uint64 `json:"dropped"`
}

// TapSilent is a sidecar that is not heard.
type TapSilent struct {
	Dataplane string `json:"dataplane"`
	Reason    string `json:"reason"`
}

// tap watches live requests until its time is over or the client goes.
func (h *Handlers) tap(w http.ResponseWriter, r *http.Request) error {
	var q TapRequest
	if err := httpapi.Read(w, r, &q); err != nil {
		return err
	}
	t, err := h.newTap(r, q)
	if err != nil {
		return err
	}
	if h.tapping.Add(1) > mostTaps {
		h.tapping.Add(-1)
		return httpapi.TooMany("taps")
	}
	defer h.tapping.Add(-1)
	name, client, _ := rights.Caller(r.Context())
	h.Log.InfoContext(r.Context(), "live requests are watched", "user", name, "client", client, "mesh", r.PathValue("mesh"), "dataplanes", t.names(), "to", q.To, "route", q.Route, "status", q.Status, "for", t.length)
	ctx, cancel := context.WithTimeout(r.Context(), t.length)
	defer cancel()
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{}) // the stream outlives any request's time
	w.Header().Set("Content-Type", endpoint.OfEvents)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	t.out = func(event string, data any) error {
		_ = c.SetWriteDeadline(time.Now().Add(2 * tapPatience)) // a server without deadlines needs none
		return tellEvent(w, event, data)
	}
	t.run(ctx, c.Flush)
	return nil
}

// tellEvent writes one server-sent event.
func tellEvent(w io.Writer, event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
	return err
}

// tap is one that runs.
type tap struct {
	h      *Handlers
	id     string
	length time.Duration
	of     []*tapped
	notes  []string
	out    func(event string, data any) error
}

// tapped is one sidecar of it.
type tapped struct {
	*effective.Resolved
	attach.RequestsQuestion
	silent string // why it was not heard last
}

// newTap finds who is to be watched, and whether who asks may.
func (h *Handlers) newTap(r *http.Request, q TapRequest) (*tap, error) {
	mesh := r.PathValue("mesh")
	if err := h.CheckMesh(mesh); err != nil {
		return nil, err
	}
	t := &tap{h: h, id: rand.Text(), length: time.Duration(q.For)}
	if t.length == 0 {
		t.length = tapUsually
	}
	if err := q.check(t.length); err != nil {
		return nil, err
	}
	m, err := h.Reader(r.Context())
	if err != nil {
		return nil, err
	}
	var all []*effective.Resolved
	for i, name := range q.Dataplanes {
		of, err := inspect.Dataplane(m, dataplaneCalled(m, mesh, name))
		if err != nil {
			return nil, httpapi.BadField(fmt.Sprintf("dataplanes[%d]", i), err.Error())
		}
		all = append(all, of)
	}
	if q.Service != "" {
		all = candidates(m, mesh, q.Service, nil)
	}
	if all, err = h.tappable(r.Context(), t, all, q); err != nil {
		return nil, err
	}
	for _, of := range all {
		x := &tapped{Resolved: of, RequestsQuestion: attach.RequestsQuestion{Tap: t.id, Status: q.Status, Route: q.Route, Paths: true}}
		if q.To != "" {
			if x.Tables = tablesOf(of, q.To); len(x.Tables) == 0 {
				continue
			}
		}
		t.of = append(t.of, x)
	}
	if len(t.of) == 0 {
		return nil, httpapi.BadField(cmp.Or(map[bool]string{true: "to"}[len(all) > 0], "service"), "there is no dataplane to watch: none has that service, or calls what `to` names")
	}
	return t, nil
}

// check reports all mistakes.
func (q *TapRequest) check(length time.Duration) error {
	var wrong []httpapi.ProblemDetails
	if (q.Service == "") == (len(q.Dataplanes) == 0) {
		wrong = append(wrong, httpapi.BadField("dataplanes", "write either dataplanes or a service"))
	}
	if len(q.Dataplanes) > mostTapped {
		wrong = append(wrong, httpapi.BadField("dataplanes", fmt.Sprintf("%d are too many; a tap watches %d sidecars at most", len(q.Dataplanes), mostTapped)))
	}
	if !attach.IsStatus(q.Status) {
		wrong = append(wrong, badStatus(q.Status))
	}
	if length <= 0 || length > tapAtMost {
		wrong = append(wrong, httpapi.BadField("for", fmt.Sprintf("%v is not possible; write a time up to %v", length, tapAtMost)))
	}
	if len(wrong) > 0 {
		return httpapi.BadFields(wrong)
	}
	return nil
}

// tappable are the dataplanes whose requests who asks may watch: an administrator, or whoever the cluster
// lets tap dataplanes/requests there. Of those that are named one by one none is left out silently.
func (h *Handlers) tappable(ctx context.Context, t *tap, all []*effective.Resolved, q TapRequest) ([]*effective.Resolved, error) {
	u := rights.CallerOf(ctx)
	if u.OnlyAsks() {
		return nil, rights.MayChange(ctx)
	}
	kind, _ := h.Catalog.Type(api.KindDataplane)
	may := map[string]bool{}
	var out []*effective.Resolved
	for _, of := range all {
		want := rights.AccessRequest{Verb: "tap", Group: rights.GroupOf(kind), Resource: kind.Plural, Subresource: "requests", Namespace: of.Ref.Namespace}
		if _, known := may[want.Namespace]; !known && u.InCluster() {
			allowed, err := u.Has(ctx, want)
			if err != nil {
				return nil, err
			}
			may[want.Namespace] = allowed
		}
		if u.InCluster() && !may[want.Namespace] {
			if q.Service == "" {
				return nil, h.Lacks(u, want)
			}
			continue
		}
		out = append(out, of)
	}
	if len(out) == 0 && len(all) > 0 {
		return nil, h.Lacks(u, rights.AccessRequest{Verb: "tap", Group: rights.GroupOf(kind), Resource: kind.Plural, Subresource: "requests"})
	}
	if more := len(out) - mostTapped; more > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d more sidecars of the service are not watched; a tap watches %d at most", more, mostTapped))
		out = out[:mostTapped]
	}
	return out, nil
}

func (t *tap) names() (out []string) {
	for _, x := range t.of {
		out = append(out, x.Ref.FullName())
	}
	return out
}

// run tells what the sidecars see, until ctx is over or nobody listens. Sidecars are told to tell before the
// first event is, so that who waits for that misses no request.
func (t *tap) run(ctx context.Context, flush func() error) {
	until := time.Now().Add(t.length)
	defer t.end(context.WithoutCancel(ctx))
	t.ask(ctx, false, func(*tapped, attach.SeenRequests, error) {}) // whoever is not heard will not be
	err := t.out("begin", TapBegin{Dataplanes: t.names(), Until: until, Notes: t.notes})
	every := time.NewTicker(tapEvery)
	defer every.Stop()
	for err == nil {
		if err = errors.Join(t.look(ctx), flush()); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				_ = t.look(context.WithoutCancel(ctx)) // what came in the last second
				_ = errors.Join(t.out("end", struct{}{}), flush())
			}
			return
		case <-every.C:
		}
	}
}

// ask asks all sidecars what they saw, the last time where it is the end, and hands on what they answer, one
// after the other.
func (t *tap) ask(ctx context.Context, end bool, heard func(*tapped, attach.SeenRequests, error)) {
	ctx, cancel := context.WithTimeout(ctx, tapPatience)
	defer cancel()
	var mu sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(askedOnce)
	for _, x := range t.of {
		asking.Go(func() error {
			q := x.RequestsQuestion
			q.End = end
			answer, err := t.h.ask(ctx, x.Ref, q)
			mu.Lock()
			defer mu.Unlock()
			heard(x, answer, err)
			return nil
		})
	}
	_ = asking.Wait() // nobody fails
}

// look asks all sidecars once, and tells what they saw in the order of time.
func (t *tap) look(ctx context.Context) error {
	if m, err := t.h.Reader(ctx); err == nil {
		for _, x := range t.of {
			if now, ok := m.Dataplane(x.Ref); ok {
				x.Resolved = now // its rules may be others than when the tap began
			}
		}
	}
	var list []seen.Record
	var told []error
	t.ask(ctx, false, func(x *tapped, answer attach.SeenRequests, err error) {
		told = append(told, t.heard(ctx, x, err))
		for i := range answer.Requests { // with their whole paths: who taps may see them
			list = append(list, seen.Of(x.Resolved, &answer.Requests[i], t.h.isRoute))
		}
		if answer.Dropped > 0 {
			told = append(told, t.out("dropped", TapLoss{x.Ref.FullName(), answer.Dropped}))
		}
	})
	slices.SortStableFunc(list, func(a, b seen.Record) int { return a.Time.Compare(b.Time) })
	if more := len(list) - mostPerSecond; more > 0 {
		told = append(told, t.out("dropped", TapLoss{Dropped: uint64(more)}))
		list = list[:mostPerSecond]
	}
	for i := range list {
		told = append(told, t.out("request", &list[i]))
	}
	return errors.Join(told...)
}

// heard tells once of a sidecar that does not answer.
func (t *tap) heard(ctx context.Context, x *tapped, err error) error {
	switch {
	case err == nil:
		x.silent = ""
		return nil
	case errors.Is(ctx.Err(), context.Canceled), err.Error() == x.silent:
		return nil
	}
	x.silent = err.Error()
	return t.out("silent", TapSilent{x.Ref.FullName(), sidecars.CannotAsk(err).Detail})
}

// end tells the sidecars that nobody watches; the lease of those that do not hear it ends by itself.
func (t *tap) end(ctx context.Context) {
	t.ask(ctx, true, func(*tapped, attach.SeenRequests, error) {})
}
