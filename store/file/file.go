package file

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// Config says which directory is read, and how.
type Config struct {
	Dir    string
	Decode Decode
	// Admit, where it is set, judges writes by what else there is: it answers those
	// to do now, to which it may add its own, and what is wrong with the others,
	// which are offered again. As a part of a store.Plan it may be asked several times.
	Admit func(now *snapshot.Snapshot, writes []store.Write) (admitted []store.Write, wrong []*api.Violation)
	Log   *slog.Logger
}

// Feed keeps a store in step with a directory: what the directory says is put
// into the store where the store does not say it, and what it no longer says is
// deleted, unless somebody else has taken it over meanwhile.
type Feed struct {
	cfg     Config
	dir     *Dir
	into    store.Store
	said    map[api.Ref]*api.Object // what the directory has said and may take away
	waiting bool                    // for what a document needs

	mu       sync.Mutex
	problems []*api.Violation
	refused  *api.Violation // why the store does not take what the directory says
}

// NewFeed reads the directory once and applies it.
func NewFeed(ctx context.Context, cfg Config, into store.Store) (*Feed, error) {
	f := &Feed{cfg: cfg, dir: NewDir(cfg.Dir, cfg.Decode), into: into, said: map[api.Ref]*api.Object{}}
	for o := range into.Snapshot().All() {
		if owned(o) {
			f.said[o.Ref] = o
			f.dir.Remember(o)
		}
	}
	if _, err := f.dir.Scan(); err != nil {
		return nil, err
	}
	return f, f.apply(ctx)
}

// Run follows the directory until ctx ends. What the store refuses is offered
// again until it takes it.
func (f *Feed) Run(ctx context.Context) {
	f.dir.Follow(ctx, f.cfg.Log, f.waiting, func() bool {
		err := f.apply(ctx)
		f.refuse(err, ctx.Err() != nil)
		return err == nil && !f.waiting
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
	f.refused = &api.Violation{Position: api.Position{File: f.cfg.Dir}, Code: "NotApplied", Severity: api.Error,
		Message: fmt.Sprintf("the store does not take what the directory says: %v; it is tried again", err)}
	if before == nil || before.Message != f.refused.Message {
		f.cfg.Log.Error("directory was not applied, trying again", "directory", f.cfg.Dir, "error", err)
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
	var now *snapshot.Snapshot
	var wrong []*api.Violation
	var left map[api.Ref]bool
	_, results, err := f.into.Apply(ctx, func(s *snapshot.Snapshot) ([]store.Write, error) {
		writes := f.writes(s, objects)
		admitted := writes
		if f.cfg.Admit != nil {
			admitted, wrong = f.cfg.Admit(s, writes)
		}
		now, left = s, leftOut(writes, admitted)
		says := make(map[api.Ref]*api.Object, len(objects))
		for _, o := range objects {
			says[o.Ref] = o
		}
		return slices.DeleteFunc(slices.Clone(admitted), func(w store.Write) bool {
			return w.Put != nil && says[w.Ref()] != nil && f.stands(s, w.Put, says[w.Ref()])
		}), nil
	})
	f.report(append(problems, wrong...))
	if err != nil {
		return err
	}
	f.waiting = len(left) > 0
	f.remember(now, objects, left)
	counts := map[store.WriteAction]int{}
	for _, r := range results {
		counts[r.Action]++
	}
	if len(results) > 0 {
		f.cfg.Log.Info("directory applied", "directory", f.cfg.Dir, "created", counts[store.Created], "updated", counts[store.Updated],
			"deleted", counts[store.Deleted], "documents", len(objects), "problems", len(problems)+len(wrong))
	}
	return nil
}

// writes is what makes the store say what the directory says. What the directory
// has said before is not taken back from somebody who has taken it over as it is.
func (f *Feed) writes(now *snapshot.Snapshot, objects []*api.Object) []store.Write {
	var writes []store.Write
	says := make(map[api.Ref]bool, len(objects))
	for _, o := range objects {
		says[o.Ref] = true
		c := *o
		c.Owner = api.Directory
		if there, _ := now.Get(o.Ref); there != nil && there.Status != nil && c.Status == nil { // which is the control plane's
			c.Status, c.Adjusted = there.Status, true
		}
		if f.stands(now, &c, o) {
			continue
		}
		writes = append(writes, store.Write{Put: &c})
	}
	for r := range f.said {
		if stands, _ := now.Get(r); !says[r] && owned(stands) {
			writes = append(writes, store.Write{Delete: &r})
		}
	}
	slices.SortStableFunc(writes, func(a, b store.Write) int { return a.Ref().Compare(b.Ref()) })
	return writes
}

// stands reports whether the store says already what is to be written for a document of the
// directory: as the directory's, or because somebody has taken it over as it is.
func (f *Feed) stands(now *snapshot.Snapshot, o, document *api.Object) bool {
	there, ok := now.Get(o.Ref)
	before := f.said[o.Ref]
	return ok && store.Same(there, o.MarkDefault(there.IsDefault())) && (owned(there) || before != nil && store.Same(before, document))
}

// leftOut is what writes writes and admitted does not.
func leftOut(writes, admitted []store.Write) map[api.Ref]bool {
	left := map[api.Ref]bool{}
	for _, w := range writes {
		left[w.Ref()] = true
	}
	for _, w := range admitted {
		delete(left, w.Ref())
	}
	return left
}

// remember keeps what the directory may take away: what it says, and in place of
// what was left out what stands there of it.
func (f *Feed) remember(now *snapshot.Snapshot, objects []*api.Object, left map[api.Ref]bool) {
	said := make(map[api.Ref]*api.Object, len(objects))
	for _, o := range objects {
		if !left[o.Ref] {
			said[o.Ref] = o
		}
	}
	for r := range left {
		if stands, _ := now.Get(r); owned(stands) {
			said[r] = stands
		}
	}
	f.said = said
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
			f.cfg.Log.Warn("document is not served as written", "object", v.Object.String(), "at", v.Position.String(), "field", string(v.Field), "problem", v.Message)
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
func Open(ctx context.Context, cfg Config, inner store.Store) (*Store, error) {
	feed, err := NewFeed(ctx, cfg, inner)
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
func (s *Store) Snapshot() *snapshot.Snapshot { return s.inner.Snapshot() }

// Watch follows the directory.
func (s *Store) Watch() (*snapshot.Snapshot, store.Watch) { return s.inner.Watch() }

// Problems is what is wrong with the files as they are.
func (s *Store) Problems() []*api.Violation { return s.feed.Problems() }

// Health is that of the store beneath.
func (s *Store) Health() error { return s.inner.Health() }

// Apply refuses: the directory is the only source.
func (s *Store) Apply(context.Context, store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	return nil, nil, store.ErrDirectory
}

// Close ends the following and the watches.
func (s *Store) Close() error {
	s.stop()
	<-s.done
	return s.inner.Close()
}
