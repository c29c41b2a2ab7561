package file

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// Feed keeps a store in step with a directory: what the directory says is put
// into the store, and what it no longer says is deleted, unless somebody else
// has taken it over meanwhile.
type Feed struct {
	dir  *Dir
	into store.Store
	log  *slog.Logger
	said map[api.Ref]*api.Object // what the last apply that was done said

	mu       sync.Mutex
	problems []*api.Violation
	refused  *api.Violation // why the store does not take what the directory says
}

// NewFeed reads the directory once and applies it.
func NewFeed(ctx context.Context, path string, decode Decode, into store.Store, log *slog.Logger) (*Feed, error) {
	f := &Feed{dir: NewDir(path, decode), into: into, log: log}
	if _, err := f.dir.Scan(); err != nil {
		return nil, err
	}
	return f, f.apply(ctx)
}

// Run follows the directory until ctx ends. What the store refuses is offered
// again until it takes it.
func (f *Feed) Run(ctx context.Context) {
	f.dir.Follow(ctx, f.log, func() bool {
		err := f.apply(ctx)
		f.refuse(err, ctx.Err() != nil)
		return err == nil
	})
}

// refuse keeps why an apply failed and logs it where that is new.
func (f *Feed) refuse(err error, ending bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.refused
	f.refused = nil
	if err == nil || ending {
		return
	}
	f.refused = &api.Violation{Position: api.Position{File: f.dir.path}, Code: "NotApplied", Severity: api.Error,
		Message: fmt.Sprintf("the store does not take what the directory says: %v; it is tried again", err)}
	if before == nil || before.Message != f.refused.Message {
		f.log.Error("directory was not applied, trying again", "directory", f.dir.path, "error", err)
	}
}

// Problems is what is wrong with the files as they are, and with the store
// where it does not take them.
func (f *Feed) Problems() []*api.Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.problems)
	if f.refused != nil {
		all = append(all, f.refused)
	}
	return all
}

func (f *Feed) apply(ctx context.Context) error {
	objects, problems := f.dir.Content()
	f.report(problems)
	said := make(map[api.Ref]*api.Object, len(objects))
	writes := make([]store.Write, 0, len(objects))
	for _, o := range objects {
		said[o.Ref] = o
		writes = append(writes, f.put(o))
	}
	for o := range f.into.Snapshot().All() {
		if said[o.Ref] == nil && owned(o) && !f.dir.doubts(o) {
			writes = append(writes, store.Write{Delete: &o.Ref, If: owned})
		}
	}
	_, results, err := f.into.Apply(ctx, writes)
	if err != nil {
		return err
	}
	f.said = said
	counts := map[store.Action]int{}
	for _, r := range results {
		counts[r.Action]++
	}
	f.log.Info("directory applied", "directory", f.dir.path, "created", counts[store.Created], "updated", counts[store.Updated],
		"deleted", counts[store.Deleted], "unchanged", counts[store.Unchanged], "problems", len(problems))
	return nil
}

// put writes what the directory says. What it has said before is not taken back
// from somebody who has taken it over as it is.
func (f *Feed) put(o *api.Object) store.Write {
	c := *o
	c.Owner = api.Directory
	w := store.Write{Put: &c}
	if before := f.said[o.Ref]; before != nil && store.Same(before, o) {
		w.If = func(now *api.Object) bool { return now == nil || owned(now) || !store.Same(now, o) }
	}
	return w
}

// owned reports whether an object is the directory's.
func owned(o *api.Object) bool { return o != nil && o.Owner == api.Directory }

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
