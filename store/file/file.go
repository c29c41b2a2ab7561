package file

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// Feed keeps a store in step with a directory: what the directory says is put
// into the store, and what it no longer says is deleted, unless somebody else
// has replaced it meanwhile.
type Feed struct {
	dir  *Dir
	into store.Store
	log  *slog.Logger

	mu       sync.Mutex
	problems []*api.Violation
}

// NewFeed reads the directory once and applies it.
func NewFeed(ctx context.Context, path string, decode Decode, into store.Store, log *slog.Logger) (*Feed, error) {
	f := &Feed{dir: NewDir(path, decode), into: into, log: log}
	if _, err := f.dir.Scan(); err != nil {
		return nil, err
	}
	return f, f.apply(ctx)
}

// Run follows the directory until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	f.dir.Follow(ctx, f.log, func() {
		if err := f.apply(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("directory was not applied", "directory", f.dir.path, "error", err)
		}
	})
}

// Problems is what is wrong with the files as they are.
func (f *Feed) Problems() []*api.Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}

func (f *Feed) apply(ctx context.Context) error {
	objects, problems := f.dir.Content()
	f.report(problems)
	said := make(map[api.Ref]bool, len(objects))
	writes := make([]store.Write, 0, len(objects))
	for _, o := range objects {
		said[o.Ref] = true
		writes = append(writes, store.Write{Put: o})
	}
	for o := range f.into.Snapshot().All() {
		if !said[o.Ref] && f.owns(o) {
			writes = append(writes, store.Write{Delete: &o.Ref})
		}
	}
	_, results, err := f.into.Apply(ctx, writes)
	if err != nil {
		return err
	}
	counts := map[store.Action]int{}
	for _, r := range results {
		counts[r.Action]++
	}
	f.log.Info("directory applied", "directory", f.dir.path, "created", counts[store.Created], "updated", counts[store.Updated],
		"deleted", counts[store.Deleted], "unchanged", counts[store.Unchanged], "problems", len(problems))
	return nil
}

// owns reports whether an object came from this directory.
func (f *Feed) owns(o *api.Object) bool {
	rel, err := filepath.Rel(f.dir.path, o.Source.File)
	return o.Source.File != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// report keeps the problems and logs those that are new.
func (f *Feed) report(problems []*api.Violation) {
	f.mu.Lock()
	known := map[string]bool{}
	for _, v := range f.problems {
		known[v.Error()] = true
	}
	f.problems = problems
	f.mu.Unlock()
	for _, v := range problems {
		if !known[v.Error()] {
			f.log.Warn("document is not served as written", "object", v.Object.String(), "at", v.Position.String(), "field", string(v.Field), "problem", v.Message)
		}
	}
}

// Store is a store.Store whose only source is a directory.
type Store struct {
	inner store.Store
	feed  *Feed
	stop  context.CancelFunc
	done  chan struct{}
}

var _ store.Store = (*Store)(nil)

// Open reads the directory into inner and follows it until Close, which closes
// inner too. Inner forgets when the process ends; beside what the directory
// says it may hold what lives no longer than the process.
func Open(ctx context.Context, path string, decode Decode, inner store.Store, log *slog.Logger) (*Store, error) {
	feed, err := NewFeed(ctx, path, decode, inner, log)
	if err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{inner: inner, feed: feed, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		feed.Run(following)
	}()
	return s, nil
}

// Snapshot is what the directory says, as far as it is sound.
func (s *Store) Snapshot() *api.Snapshot { return s.inner.Snapshot() }

// Watch follows the directory.
func (s *Store) Watch() (*api.Snapshot, store.Watch) { return s.inner.Watch() }

// Problems is what is wrong with the files as they are.
func (s *Store) Problems() []*api.Violation { return s.feed.Problems() }

// Apply refuses: the directory is the only source.
func (s *Store) Apply(context.Context, []store.Write) (*api.Snapshot, []store.Result, error) {
	return nil, nil, store.ErrReadOnly
}

// Close ends the following and the watches.
func (s *Store) Close() error {
	s.stop()
	<-s.done
	return s.inner.Close()
}
