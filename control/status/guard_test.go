package status_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/status"
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
