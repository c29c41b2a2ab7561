package main

import (
	"context"
	"fmt"
	"time"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

// How often --wait asks: at most, and where it hears of no event.
const (
	pollStatus = 100 * time.Millisecond
	askAnyway  = time.Second
)

// sample is what one question of those that --wait asks has found.
type sample struct {
	server *client.Client // whose events say that it is worth asking again
	waits  error          // what is not as it should be yet; nil where all is
	shows  string         // of it, while it is waited for
}

// lateError says what was not as it should be when the time was over.
type lateError struct {
	wait time.Duration
	why  error
}

func (e *lateError) Error() string { return fmt.Sprintf("after %s: %v", e.wait, e.why) }
func (e *lateError) Unwrap() error { return e.why }

// until asks until all is as it should be, or the time is over: then the error is a *lateError. With no
// time it asks once, whatever it finds. An error of ask ends it.
func (a *app) until(ctx context.Context, wait time.Duration, ask func(context.Context) (sample, error)) error {
	deadline := time.Now().Add(wait)
	progress := a.progress()
	defer progress("")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var news <-chan struct{}
	for {
		found, err := ask(ctx)
		switch {
		case err != nil || found.waits == nil || wait == 0:
			return err
		case time.Now().After(deadline):
			return &lateError{wait, found.waits}
		}
		progress(found.shows)
		if news = a.await(ctx, found.server, news); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// await returns when something may have changed: when the control plane tells of
// an event, and now and then without one. Questions about a whole mesh cost too
// much to ask them all the time.
func (a *app) await(ctx context.Context, server *client.Client, news <-chan struct{}) <-chan struct{} {
	timer := time.NewTimer(askAnyway)
	defer timer.Stop()
	if news == nil {
		news, _ = server.Events(ctx) // without it there is the timer
	}
	select {
	case <-ctx.Done():
		return news
	case <-timer.C:
		return news
	case _, open := <-news:
		if !open {
			news = nil
		}
	}
	select { // what comes together is one question
	case <-ctx.Done():
	case <-time.After(pollStatus):
	}
	return news
}
