package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/inspect/web/requests"
)

func newTap(a *app) *cobra.Command {
	var q requests.TapRequest
	length := time.Minute
	c := a.command(&cobra.Command{
		Use:   "tap DATAPLANE|SERVICE",
		Short: "Watch live requests, with the rules and policies behind them",
		Long: `Shows each request that the sidecar of a dataplane, or all sidecars of a service, see:
what was asked, what became of it, how often it was tried, and which rule of which route
and which policies shaped it. Requests are seen without their query and body, and with
those headers that -H names: > of the request, < of its answer. Of a header that proves who
somebody is, as authorization and cookie, only the length is shown.

No listener changes and no connection is drained: the sidecar writes a line of each
request to its agent while somebody watches. A sidecar tells 200 requests in a second at
most, a tap watches 50 sidecars, and it ends by itself. Who watches is in the log of the
control plane. In a cluster it takes the right to tap dataplanes/requests (role weft-admin);
else the token of an administrator.`,
		Example:           "  weft tap frontend-1\n  weft tap frontend --to web --status failed --for 5m\n  weft tap frontend-1 --route checkout -H x-canary -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeNames("dataplane"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.oneOf([]string{"table", "json"}); err != nil {
				return err
			}
			q.For = api.Duration(length)
			return a.tap(c.Context(), args[0], q)
		},
	}, groupAsk)
	c.Flags().StringVar(&q.To, "to", "", "only requests to this service: NAME or NAME:PORT")
	c.Flags().StringVar(&q.Route, "route", "", "only requests that a rule of this route took: NAME or KIND/NAME")
	c.Flags().StringVar(&q.Status, "status", "", "only requests answered so: 503, 5xx, 0 for no answer, or failed")
	c.Flags().StringArrayVarP(&q.Headers, "header", "H", nil, "show this header of requests and answers; may be given several times")
	c.Flags().DurationVar(&length, "for", length, "how long, ten minutes at most")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

// tap watches until the time is over, or somebody ends it.
func (a *app) tap(ctx context.Context, who string, q requests.TapRequest) error {
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	who = inKuma(who)
	isDataplane, err := a.isDataplane(ctx, server, who)
	if err != nil {
		return err
	}
	if isDataplane {
		q.Dataplanes = []string{who}
	} else {
		q.Service = who
	}
	stream, err := server.PostStream(ctx, a.pathInMesh("_taps"), q)
	if err != nil {
		return err
	}
	defer stream.Close()
	t := tapped{a: a}
	err = client.EachEvent(stream, t.take)
	switch {
	case ctx.Err() != nil:
		err = nil // somebody ended it
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the control plane ended the tap before its time; try again")
	}
	fmt.Fprintf(a.err, "%d requests, %d not shown since there were too many in a second, %d lines lost on the way\n", t.requests, t.dropped, t.lost)
	return err
}

// isDataplane reports whether a dataplane has that name.
func (a *app) isDataplane(ctx context.Context, server *client.Client, name string) (bool, error) {
	_, err := server.One(ctx, a.pathInMesh("dataplanes", name))
	var r *client.Refusal
	if errors.As(err, &r) && r.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// tapped is what was heard.
type tapped struct {
	a                 *app
	requests, dropped uint64
	lost              uint64 // lines that sidecars wrote and their agents never got
}

// take shows one event: requests where results go, all else beside it.
func (t *tapped) take(event string, data []byte) error {
	switch event {
	case "end":
		var e requests.TapEnd
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		t.lost = e.Lost
		if e.Reason != "" {
			return fmt.Errorf("the control plane ended the tap: %s", e.Reason)
		}
		return io.EOF
	case "begin":
		var b requests.TapBegin
		if err := json.Unmarshal(data, &b); err != nil {
			return err
		}
		fmt.Fprintf(t.a.err, "watching %s until %s\n", strings.Join(b.Dataplanes, ", "), b.Until.Local().Format(time.TimeOnly))
		for _, n := range b.Notes {
			fmt.Fprintln(t.a.err, n)
		}
	case "silent":
		var s requests.TapSilent
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		fmt.Fprintf(t.a.err, "%s is not heard: %s\n", s.Dataplane, s.Reason)
	case "dropped":
		var l requests.TapLoss
		if err := json.Unmarshal(data, &l); err != nil {
			return err
		}
		t.dropped += l.Dropped
	case "request":
		t.requests++
		if t.a.output == "json" {
			_, err := fmt.Fprintf(t.a.out, "%s\n", data)
			return err
		}
		var r seen.Record
		if err := json.Unmarshal(data, &r); err != nil {
			return err
		}
		return seen.Lines(t.a.out, &r, t.a.style())
	}
	return nil
}

// reasons is what `weft why` was asked.
type reasons struct {
	route, status, to string
	last              time.Duration
	limit             int
}

func newWhy(a *app) *cobra.Command {
	x := reasons{last: 15 * time.Minute, limit: 20}
	c := a.command(&cobra.Command{
		Use:   "why [ID | DATAPLANE|SERVICE ['METHOD URL']]",
		Short: "Say why requests failed, and which policies were behind it",
		Long: `Without arguments it lists the requests that failed lately, the latest first: how each
ended and why, in words, with the rule of the route that took it and the policies whose
values stood there. With a dataplane or a service it lists those that its sidecars saw.

With the id of a request (its x-request-id, which the lists show) it tells everything of
that one: what both sides saw, each attempt that failed, the fields of policies that
explain how it ended, and what the simulator says of the same request. With METHOD URL
after a dataplane it tells that of the latest request like it.

Each sidecar keeps the last 256 requests that failed, for as long as it runs; of many at
once a sample. Their paths are told where the Mesh has telemetry.paths: full.`,
		Example: "  weft why\n  weft why frontend-1 --status 503\n  weft why 2a0f90de-6c1e-4a3b-9a52-3f1f0a1c9d11\n  weft why frontend-1 'GET http://checkout/v1/pay'",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			return a.why(c.Context(), args, x)
		},
	}, groupAsk)
	c.Flags().StringVar(&x.to, "to", "", "only requests to this service: NAME or NAME:PORT")
	c.Flags().StringVar(&x.route, "route", "", "only requests that a rule of this route took: NAME or KIND/NAME")
	c.Flags().StringVar(&x.status, "status", "", "only requests answered so: 503, 5xx, or 0 for no answer")
	c.Flags().DurationVar(&x.last, "last", x.last, "only requests of so long ago or later")
	c.Flags().IntVar(&x.limit, "limit", x.limit, "how many requests are listed at most, 256 at most")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

func (a *app) why(ctx context.Context, args []string, x reasons) error {
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	path := a.pathInMesh("_requests")
	q := x.query()
	if len(args) > 0 {
		who := inKuma(args[0])
		isDataplane, err := a.isDataplane(ctx, server, who)
		if err != nil {
			return err
		}
		switch {
		case isDataplane:
			path = a.pathInMesh("dataplanes", who, "_requests")
		case len(args) == 1 && isID(args[0]):
			return a.whyOne(ctx, server, args[0])
		default:
			q.Set("of", who)
		}
	}
	if len(args) == 2 {
		return a.whyLike(ctx, server, path, q, args[1])
	}
	var all requests.RequestsAnswer
	if err := server.Get(ctx, path+"?"+q.Encode(), &all); err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) error { return a.listRequests(w, all) })
}

func (x reasons) query() url.Values {
	q := url.Values{}
	for _, p := range []struct{ name, text string }{{"to", x.to}, {"route", x.route}, {"status", x.status}, {"last", x.last.String()}, {"limit", fmt.Sprint(x.limit)}} {
		if p.text != "" {
			q.Set(p.name, p.text)
		}
	}
	return q
}

// isID reports whether a word is the id of a request, as Envoy makes them: no service is called so.
func isID(word string) bool {
	return len(word) == 36 && strings.Count(word, "-") == 4 || len(word) == 32 && !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
}

// whyOne tells everything of one request.
func (a *app) whyOne(ctx context.Context, server *client.Client, id string) error {
	var one requests.Why
	if err := server.Get(ctx, a.pathInMesh("_requests", id), &one); err != nil {
		return err
	}
	return a.print(one, func(w io.Writer) error {
		if err := seen.Text(w, one.Requests, one.Simulated, a.style()); err != nil {
			return err
		}
		return unknownLines(w, one.Unknown, one.Notes)
	})
}

// whyLike tells everything of the latest request that asks for the same.
func (a *app) whyLike(ctx context.Context, server *client.Client, path string, q url.Values, like string) error {
	method, text, ok := strings.Cut(strings.TrimSpace(like), " ")
	if !ok {
		method, text = "", method
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" {
		return usage("%q is no request; write one as 'GET http://web/v1/items'", like)
	}
	q.Set("limit", "256")
	var all requests.RequestsAnswer
	if err := server.Get(ctx, path+"?"+q.Encode(), &all); err != nil {
		return err
	}
	i := slices.IndexFunc(all.Items, func(r seen.Record) bool {
		return (method == "" || strings.EqualFold(method, r.Method)) && r.Authority == u.Host && (r.Path == "" || r.Path == cmp.Or(u.Path, "/"))
	})
	switch {
	case i < 0:
		return errors.New("no request like it failed, as far as sidecars keep them; `weft why` lists those that did, and `weft simulate` says what would happen to it")
	case all.Items[i].ID == "":
		return a.print(all.Items[i], func(w io.Writer) error { return seen.Text(w, all.Items[i:i+1], nil, a.style()) })
	}
	return a.whyOne(ctx, server, all.Items[i].ID)
}

// listRequests lists requests, two lines each.
func (a *app) listRequests(w io.Writer, all requests.RequestsAnswer) error {
	for i := range all.Items {
		if err := seen.Lines(w, &all.Items[i], a.style()); err != nil {
			return err
		}
	}
	if len(all.Items) == 0 {
		fmt.Fprintln(w, "no request failed, as far as sidecars keep them")
	}
	return unknownLines(w, all.Unknown, all.Notes)
}

// unknownLines say what an answer is without.
func unknownLines(w io.Writer, u requests.Unknown, notes []string) error {
	if u.Sidecars > 0 {
		notes = append(notes, fmt.Sprintf("%d sidecars did not answer in time", u.Sidecars))
	}
	if len(u.Replicas) > 0 {
		notes = append(notes, "replicas that did not answer: "+strings.Join(u.Replicas, ", "))
	}
	for _, n := range notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}
