package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/events"
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
	// Headers are names of headers that each request, and its answer, is told with, where they have one. Of those that
	// prove who somebody is the length is told.
	Headers []string `json:"headers,omitempty"`
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

// TapEnd is the last event of a tap.
type TapEnd struct {
	// Reason is why it ended before its time; empty where that is over.
	Reason string `json:"reason,omitempty"`
	// Lost is how many lines the Envoys wrote meanwhile that never came to their agents.
	Lost uint64 `json:"lost,omitempty"`
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
	t.began(r.Context(), &q)
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

// began tells of the tap who looks after the mesh: in the log, and among what happens.
func (t *tap) began(ctx context.Context, q *TapRequest) {
	name, client, _ := rights.Caller(ctx)
	t.h.Log.InfoContext(ctx, "live requests are watched", "user", name, "client", client, "mesh", t.mesh, "dataplanes", t.names(), "to", q.To, "route", q.Route, "status", q.Status, "headers", q.Headers, "for", t.length)
	said := "for " + t.length.String()
	for _, p := range []struct{ what, text string }{{"to", q.To}, {"route", q.Route}, {"status", q.Status}, {"headers", strings.Join(q.Headers, ", ")}} {
		if p.text != "" {
			said += ", " + p.what + " " + p.text
		}
	}
	v := events.Event{Type: "tap", User: name, Client: client, Object: api.Ref{Kind: api.KindMesh, Name: t.mesh}.String(), Count: len(t.of), Message: said}
	if len(t.of) == 1 {
		v.Object, v.Dataplane = "", t.of[0].Ref.String()
	}
	if t.h.Events != nil {
		t.h.Events.Publish(v)
	}
}

// tap is one that runs.
type tap struct {
	h      *Handlers
	mesh   string
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

// names are those of the dataplanes that are watched.
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
	end := sync.OnceValue(func() uint64 { return t.end(context.WithoutCancel(ctx)) })
	defer end()
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
				_ = errors.Join(t.out("end", TapEnd{Lost: end()}), flush())
			}
			return
		case <-every.C:
		}
		if refused := t.mayGoOn(ctx); refused != nil && ctx.Err() == nil {
			_ = errors.Join(t.out("end", TapEnd{Reason: refused.Error(), Lost: end()}), flush())
			return
		}
	}
}

// mayGoOn fails where who watches has lost the right to: to one of the dataplanes is to all.
func (t *tap) mayGoOn(ctx context.Context) error {
	var all []*effective.Resolved
	for _, x := range t.of {
		all = append(all, x.Resolved)
	}
	_, err := t.h.tappable(ctx, all, true)
	return err
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

// end tells the sidecars that nobody watches, and returns how many lines were lost; the lease of those that do not
// hear it ends by itself.
func (t *tap) end(ctx context.Context) (lost uint64) {
	t.ask(ctx, true, func(_ *tapped, answer attach.SeenRequests, _ error) { lost += answer.Lost })
	return lost
}
