// Package metrics tells what a sidecar's Envoy and the applications beside it count: to who fetches it, and to
// collectors.
//
// It promises that an application that fails spoils nothing of the rest, that none is asked but on this host,
// that no application can say that its figures are those of another dataplane, and that whoever may fetch
// metrics can neither ask for anything else nor keep Envoy busy with it.
package metrics

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// Bounds of what it takes to tell.
const (
	within  = 25 * time.Second       // of all
	patient = 10 * time.Second       // for a turn
	pause   = 200 * time.Millisecond // between two questions to Envoy: 3 MB cost its main thread some 20 ms
)

// MetricsSource is whom a Teller asks.
type MetricsSource struct {
	// Envoy asks its administration for a path, and answers the body of what is a success.
	Envoy func(ctx context.Context, path string) (io.ReadCloser, error)
	// Own reports whether an address is one of this host.
	Own func(netip.Addr) bool
	// LostLines is how many lines of access logs were lost; nil where nobody counts them.
	LostLines func() uint64
	// Secure says that Envoy has a certificate by which metrics are served.
	Secure bool
	Log    *slog.Logger
}

// Teller tells metrics, as it was told to.
type Teller struct {
	source MetricsSource
	turn   chan struct{} // has a token while nobody asks

	listener net.Listener // of Open

	mu      sync.Mutex
	conf    *told         // nil where nobody is told anything
	changed chan struct{} // closed when that changes, then replaced
}

// New makes one that tells nobody anything yet.
func New(s MetricsSource) *Teller {
	t := &Teller{source: s, turn: make(chan struct{}, 1), changed: make(chan struct{})}
	t.turn <- struct{}{}
	return t
}

// Tell is what is told from now on.
func (t *Teller) Tell(m *attach.Metrics) {
	next := read(m)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conf != nil && next != nil && proto.Equal(t.conf.said, next.said) || t.conf == nil && next == nil {
		return
	}
	if next != nil {
		for _, p := range m.GetPorts() {
			if p.GetTls() && !t.source.Secure {
				t.source.Log.Warn("a MeshMetric wants metrics served by TLS, and this sidecar has no certificate for that: the port stays closed; set "+CertificateVariable+" and "+KeyVariable, "port", p.GetPort())
			}
		}
	}
	t.conf = next
	close(t.changed)
	t.changed = make(chan struct{})
}

// current is what is told now, and is closed when that changes.
func (t *Teller) current() (*told, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conf, t.changed
}

// told is a conf as it is carried out.
type told struct {
	said   *attach.Metrics
	choice choice
	labels labels
}

// read is nil where nobody is told anything.
func read(m *attach.Metrics) *told {
	if len(m.GetPorts())+len(m.GetPushes()) == 0 {
		return nil
	}
	return &told{m, choose(m), labelsOf(m)}
}

// ServeHTTP answers whoever fetches metrics.
func (t *Teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conf, _ := t.current()
	switch {
	case r.URL.Path != bootstrap.MetricsPath:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "ask by GET", http.StatusMethodNotAllowed)
		return
	case conf == nil || len(conf.said.GetPorts()) == 0:
		http.Error(w, "this sidecar was not told yet which metrics to serve", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	out := &answer{w: w}
	err := t.gather(ctx, conf, out)
	switch {
	case err == nil:
	case out.begun:
		t.source.Log.Warn("metrics were served in part", "error", err)
		panic(http.ErrAbortHandler) // or what is missing would look as if it were not counted
	case errors.Is(err, errBusy):
		http.Error(w, errBusy.Error(), http.StatusServiceUnavailable)
	default:
		t.source.Log.Warn("metrics cannot be served", "error", err)
		http.Error(w, "the figures of the proxy cannot be had", http.StatusBadGateway)
	}
}

// answer writes families in Prometheus' text form.
type answer struct {
	w     http.ResponseWriter
	begun bool
}

// contentType is that of Prometheus' text form.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

func (a *answer) take(f *family) error {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", contentType)
	}
	return f.write(a.w)
}

// errBusy says that there are too many who ask.
var errBusy = errors.New("too many ask for metrics at a time; try again")

// begin waits for a turn; who got one calls end.
func (t *Teller) begin(ctx context.Context) (end func(), err error) {
	late := time.NewTimer(patient)
	defer late.Stop()
	select {
	case <-t.turn:
		return func() { time.AfterFunc(pause, func() { t.turn <- struct{}{} }) }, nil
	case <-late.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// taker takes one family after the other, each name once.
type taker interface{ take(*family) error }

// gather asks all, and hands on what is chosen: first what Envoy counts, then the rest.
func (t *Teller) gather(ctx context.Context, conf *told, to taker) error {
	end, err := t.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	others := t.applications(ctx, conf)
	path := "stats/prometheus"
	if !conf.said.GetIncludeUnused() {
		path += "?usedonly"
	}
	if !conf.choice.nothing() {
		body, err := t.source.Envoy(ctx, path)
		if err != nil {
			return err
		}
		err = families(body, conf, func(f *family) error {
			others.join(f)
			return to.take(f)
		})
		if err = errors.Join(err, body.Close()); err != nil {
			return err
		}
	}
	for f := range others.rest {
		if err := to.take(f); err != nil {
			return err
		}
	}
	return nil
}
