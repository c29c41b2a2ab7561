package file

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// The rhythm of following a directory: changes are read when it has been calm
// for a moment, so that a file is not read half written; the slow look at every
// file finds what the operating system did not tell.
const (
	calm     = 30 * time.Millisecond
	atLatest = 500 * time.Millisecond
	slowLook = 2 * time.Second
)

// Follow calls changed after each scan that found something new, until ctx
// ends, and again at each slow look until it reports that it could do its work;
// from the beginning where it is owed that. An error of a scan is logged once
// and tried again.
func (d *Dir) Follow(ctx context.Context, log *slog.Logger, owed bool, changed func() (done bool)) {
	d.follow(ctx, log, owed, changed, fsnotify.NewWatcher)
}

// follow is Follow with the events of what watch gives, if it does.
func (d *Dir) follow(ctx context.Context, log *slog.Logger, owed bool, changed func() (done bool), watch func() (*fsnotify.Watcher, error)) {
	watcher, err := watch()
	var events chan fsnotify.Event
	var failures chan error
	if err != nil {
		log.Warn("directory is polled only", "directory", d.path, "error", err)
	} else {
		defer watcher.Close()
		events, failures = watcher.Events, watcher.Errors
		d.watchAll(watcher)
	}
	slow := time.NewTicker(slowLook)
	defer slow.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-failures: // the slow look covers it
			continue
		case <-slow.C:
		case <-events:
			settle(ctx, events)
		}
		news, err := d.Scan()
		if err != nil && !failing {
			log.Error("directory cannot be read, keeping what it said", "directory", d.path, "error", err)
		}
		failing = err != nil
		if watcher != nil {
			d.watchAll(watcher)
		}
		if owed = owed || news; owed {
			owed = !changed()
		}
	}
}

// settle waits until nothing has happened for a moment, but not for ever.
func settle(ctx context.Context, events <-chan fsnotify.Event) {
	latest := time.After(atLatest)
	for {
		select {
		case <-ctx.Done():
			return
		case <-latest:
			return
		case <-time.After(calm):
			return
		case <-events:
		}
	}
}

// watchAll watches every directory; those that are watched already stay so.
func (d *Dir) watchAll(w *fsnotify.Watcher) {
	for _, dir := range append([]string{d.path}, d.dirs...) {
		_ = w.Add(dir) // one that just vanished, or a limit: the slow look covers it
	}
}
