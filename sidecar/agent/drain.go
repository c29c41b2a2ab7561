package agent

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// What drains: the connections that come in, so that a workload that ends can still call
// others; or all of them, where Envoy makes room for another.
const (
	drainInbound = "/drain_listeners?inboundonly&graceful&skip_exit"
	drainAll     = "/drain_listeners?graceful&skip_exit"
)

// activeInbound are the gauges of requests and connections that came in and are not done.
var activeInbound = "/stats?filter=" + url.QueryEscape(`^(http\.(inbound|edge).*downstream_rq_active|cluster\.inbound.*upstream_rq_active)$`)

// begin has the sidecar refuse to be ready and Envoy close connections gently. It may be
// called again.
func (a *Agent) begin(ctx context.Context, what string) error {
	if a.state.draining.Swap(true) {
		return nil
	}
	a.state.since.Store(new(time.Now()))
	if err := a.admin(ctx, http.MethodPost, what); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	a.log.Info("draining; a second signal ends it at once", "time", a.config.DrainTime)
	return nil
}

// drain begins to drain and waits for the drain time, or until Envoy has ended by itself.
// Where a hook began before, those who call know: then it ends as soon as nothing that
// came in is under way.
func (a *Agent) drain(ended chan error, what string) {
	known := a.state.draining.Load()
	if a.config.DrainTime <= 0 {
		a.state.draining.Store(true)
		return
	}
	if err := a.begin(context.Background(), what); err != nil {
		a.log.Warn("cannot drain", "error", err)
		return
	}
	enough, look := time.After(a.config.DrainTime), time.NewTicker(a.intervals.idle)
	defer look.Stop()
	for done := 0; done < 2; { // a second time, so that Envoy has sent the lines of the last request
		select {
		case err := <-ended:
			ended <- err // for stop, which waits for it too
			return
		case <-enough:
			return
		case <-look.C:
			if known && a.done(context.Background()) {
				done++
			}
		}
	}
}

// done reports whether draining has come to its end: its time is over, or nothing is under
// way after those who call had the time to hear of it.
func (a *Agent) done(ctx context.Context) bool {
	since := a.state.since.Load()
	if since == nil {
		return false
	}
	return drained(time.Since(*since), a.config.DrainTime, a.intervals.linger, func() bool { return a.idle(ctx) })
}

// drained reports whether draining that took so long has come to its end: where nothing is under way, not
// before least.
func drained(took, most, least time.Duration, idle func() bool) bool {
	return took >= most || took >= least && idle()
}

// idle reports whether Envoy says that nothing that came in is under way.
func (a *Agent) idle(ctx context.Context) bool {
	text, err := a.ask(ctx, http.MethodGet, activeInbound)
	if err != nil {
		return false
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if _, value, ok := strings.Cut(s.Text(), ": "); ok && value != "0" {
			return false
		}
	}
	return true
}
