package file

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fsnotify/fsnotify"
)

// Believed reports whether a file is only read again when its stamp changes.
func Believed(d *Dir, path string) bool {
	h := d.files[path]
	return h != nil && h.stamp != (stamp{})
}

// Once looks at the directory and applies what it says, as an event does.
func (f *Feed) Once(ctx context.Context) error {
	if _, err := f.dir.Scan(); err != nil {
		return err
	}
	return f.apply(ctx)
}

// FollowUnwatched is Follow where the system has no watchers left.
func (d *Dir) FollowUnwatched(ctx context.Context, log *slog.Logger, changed func() (done bool)) {
	d.follow(ctx, log, false, changed, func() (*fsnotify.Watcher, error) { return nil, errors.New("no watchers left") })
}
