package control_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
)

// A control plane whose store takes no more writes serves all the same: by its readiness
// nobody takes it away from sidecars.
func TestAFailedStoreDoesNotEndReadiness(t *testing.T) {
	t.Parallel()
	p, err := control.New(t.Context(), config(t), discard())
	if err != nil {
		t.Fatal(err)
	}
	failing := &storetest.Refusing{}
	p.Beneath(func(s store.Store) store.Store { failing.Store = s; return failing })
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "starting") {
		t.Errorf("before it serves: %v", err)
	}
	failing.Refuses.Store(true)
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "starting") {
		t.Errorf("with a failed store: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Serve(ended); err != nil {
		t.Error(err)
	}
}
