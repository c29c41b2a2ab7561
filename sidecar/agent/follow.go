package agent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weftmesh/weft/sidecar/traffic"
)

// intervals is how the agent looks after Envoy's connection to the control plane.
type intervals struct {
	look time.Duration // between two looks
	cut  time.Duration // how long no connection may be nothing
	idle time.Duration // between two looks at what is under way while draining
	// linger is how long a draining sidecar stays at least: those who call hear of it late.
	linger time.Duration
	// first and longest are pauses between two attempts to register again.
	first, longest time.Duration
	names          time.Duration // how long a workload waits for names at most, with an Envoy that is ready
	connections    time.Duration // between looks for somebody who came in plain text
	report         time.Duration // between reports of requests, where the control plane has not said
}

var defaultIntervals = intervals{look: time.Second, cut: 3 * time.Second, idle: 200 * time.Millisecond, linger: 5 * time.Second, first: time.Second, longest: 30 * time.Second, names: 10 * time.Second, connections: 5 * time.Second, report: traffic.ReportEvery}

// pauses are random ones around those from begin to longest, so that the sidecars of a mesh do not all come at once.
func (i intervals) pauses(begin time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: begin, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: i.longest}
}

// follower looks after one life of Envoy. A control plane that was out of reach
// may have forgotten the dataplane that the sidecar brought along, so the
// bootstrap is asked for again, which registers it, until that has worked once
// after the cut.
type follower struct {
	*supervisor
	intervals intervals
	running   []byte // the bootstrap that Envoy has

	cut        time.Time // since when Envoy is not connected; zero if it is
	unverified bool      // the control plane may have forgotten the dataplane
	next       time.Time // attempt to register
	pauses     *backoff.ExponentialBackOff
	pending    []byte // another bootstrap than running, which the control plane gave
}

// follow returns true if Envoy should be replaced: it cannot reach the control
// plane, and the agent can, and is given another bootstrap.
func (f *follower) follow(ctx context.Context) (replace bool) {
	f.pauses = f.intervals.pauses(f.intervals.first)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(f.intervals.look):
		}
		connected, err := f.connected(ctx)
		if err != nil {
			continue // Envoy is starting, or busy
		}
		now := time.Now()
		f.see(connected, now)
		if !f.unverified || now.Before(f.next) {
			continue
		}
		if f.register(ctx, connected) {
			return true
		}
	}
}

// see takes note of whether Envoy is connected.
func (f *follower) see(connected bool, now time.Time) {
	switch {
	case connected && !f.cut.IsZero():
		f.cut, f.pending = time.Time{}, nil
		f.pauses.Reset()
		f.next = now.Add(f.pauses.NextBackOff())
		f.pauses.Reset() // the first attempt, which that was for, is followed by a short one too
	case connected:
	case f.cut.IsZero():
		f.cut = now
	case now.Sub(f.cut) >= f.intervals.cut:
		f.unverified = true
	}
}

// register asks for the bootstrap again and reports whether Envoy needs it.
func (f *follower) register(ctx context.Context, connected bool) bool {
	text, err := f.source.fetch(ctx)
	f.next = time.Now().Add(f.pauses.NextBackOff())
	if err != nil {
		if ctx.Err() == nil {
			f.agent.log.Warn("envoy was cut off from the control plane, and registering again fails", "error", err)
		}
		return false
	}
	f.unverified = false
	f.agent.log.Info("registered again after envoy was cut off from the control plane")
	if connected || bytes.Equal(text, f.running) {
		return false
	}
	if bytes.Equal(text, f.pending) { // it had time to connect with what it has
		f.agent.log.Warn("replacing envoy, which cannot connect with the bootstrap that it has")
		return true
	}
	f.pending = text
	return false
}

// connected asks Envoy whether its stream to the control plane is open.
func (f *follower) connected(ctx context.Context) (bool, error) {
	text, err := f.agent.ask(ctx, http.MethodGet, "/stats?filter=^control_plane.connected_state$")
	if err != nil {
		return false, err
	}
	_, value, ok := strings.Cut(string(text), ": ")
	if !ok {
		return false, fmt.Errorf("ask envoy for its connection: it says %q", text)
	}
	return strings.TrimSpace(value) == "1", nil
}
