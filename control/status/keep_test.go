package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// TestGuard: a bug is an error that names it, and what there was to do is done else.
func TestGuard(t *testing.T) {
	t.Parallel()
	if err := status.Guard(func() error { panic("a slip") }); err == nil || !strings.Contains(err.Error(), "a slip") {
		t.Errorf("a panic is %v", err)
	}
	if err := status.Guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestKeep: what changes is noted and what is due is done until the end, and a bug in either is
// the end of both.
func TestKeep(t *testing.T) {
	t.Parallel()
	s := memory.New(snapshot.New(0), nil, time.Now)
	noted, stepped := make(chan []snapshot.Change, 1), make(chan bool, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- status.Keep(ctx, s, time.Millisecond, func(c []snapshot.Change) { noted <- c }, func(context.Context, time.Time) {
			select {
			case stepped <- true:
			default:
			}
		})
	}()
	<-stepped
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: storetest.Service(t, "a", 1)})); err != nil {
		t.Fatal(err)
	}
	if c := <-noted; len(c) != 1 || c[0].Ref().Name != "a" {
		t.Errorf("noted is %v", c)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	err := status.Keep(t.Context(), s, time.Millisecond, func([]snapshot.Change) {}, func(context.Context, time.Time) { panic("a slip") })
	if err == nil || !strings.Contains(err.Error(), "a slip") {
		t.Errorf("a bug ends it with %v", err)
	}
}
