package file_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/store/file"
)

// TestADirectoryIsFollowedWithoutEvents: where the system gives no watcher the log says
// so, and a change is found by looking now and then.
func TestADirectoryIsFollowedWithoutEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := file.NewDir(dir, readText)
	scan(t, d)
	put(t, dir, "a.yaml", service("a", 80))
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	var text bytes.Buffer
	d.FollowUnwatched(ctx, slog.New(slog.NewTextHandler(&text, nil)), func() bool {
		stop()
		return true
	})
	if content, _ := content(d); ctx.Err() != context.Canceled || !strings.Contains(content, "a") {
		t.Errorf("the change is not found: %q, %v", content, ctx.Err())
	}
	if !strings.Contains(text.String(), `level=WARN msg="directory is polled only"`) || !strings.Contains(text.String(), dir) {
		t.Errorf("the log says %q", text.String())
	}
}
