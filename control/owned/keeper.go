package owned

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/store"
)

// The rhythm of objects.
const (
	tick   = 200 * time.Millisecond // between looks at what changed
	whole  = 10 * time.Second       // between looks at all: an object that somebody deleted comes back
	share  = 20                     // a look at all takes at most one part in so many of the time
	atOnce = 8                      // requests
	batch  = 200                    // objects between looks at what changed
)

// Keeper keeps the objects of a kind while its replica leads.
type Keeper struct {
	Config

	mu  sync.Mutex
	due map[Key]uint64 // what changed, by the revision of the store that has it
	all bool

	told map[Key]bool // whose object somebody else has
	next time.Time    // look at all
}

// New is a keeper.
func New(c Config) *Keeper { return &Keeper{Config: c} }

// Run writes until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	k.due, k.told, k.all, k.next = map[Key]uint64{}, map[Key]bool{}, true, time.Time{}
	return status.Keep(ctx, k.Store, tick, k.note, k.step)
}

// note notes by which names another object may be wanted.
func (k *Keeper) note(changes []snapshot.Change) {
	revision := k.Store.Snapshot().Revision()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range changes {
		ref := c.Ref()
		one, all := k.Maker.Touches(ref)
		if k.all = k.all || all; one {
			k.due[Key{ref.Namespace, ref.Name}] = revision
		}
	}
}

// take takes what is due: all, or what changed and the maker sees.
func (k *Keeper) take(now time.Time) (due map[Key]bool, all bool) {
	resolved := uint64(math.MaxUint64)
	if k.Resolved != nil {
		resolved = k.Resolved()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	due, all = map[Key]bool{}, k.all || !now.Before(k.next)
	k.all = false
	for n, revision := range k.due {
		if revision <= resolved {
			due[n] = true
			delete(k.due, n)
		}
	}
	return due, all
}

// step writes what is due.
func (k *Keeper) step(ctx context.Context, now time.Time) {
	served, installed := k.Store.Served(k.Kind)
	due, all := k.take(now)
	if !installed || len(due) == 0 && !all {
		return
	}
	view := k.Maker.See()
	if all {
		for n := range view.Names() {
			due[n] = true
		}
		for ref := range k.Store.Made(k.Kind) {
			due[Key{ref.Namespace, ref.Name}] = true
		}
	}
	list := k.actions(view, due, served.Status)
	if all {
		k.next = now.Add(max(whole, share*time.Since(now)))
	}
	k.send(ctx, k.some(list))
}

// action is what is to be written of one name.
type action struct {
	Key
	do func(context.Context) error
}

// actions are what is to be written, by name.
func (k *Keeper) actions(view View, due map[Key]bool, status bool) []action {
	var out []action
	for n := range due {
		if do := k.keep(view, n, status); do != nil {
			out = append(out, action{n, do})
		}
	}
	slices.SortFunc(out, func(a, b action) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// some is what is written now; the others come next.
func (k *Keeper) some(list []action) []action {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := batch; i < len(list); i++ {
		if _, again := k.due[list[i].Key]; !again {
			k.due[list[i].Key] = 0 // the maker has seen it
		}
	}
	return list[:min(batch, len(list))]
}

func (k *Keeper) send(ctx context.Context, list []action) {
	var sending errgroup.Group
	sending.SetLimit(atOnce)
	outcomes := make([]error, len(list))
	for i, a := range list {
		sending.Go(func() error {
			outcomes[i] = status.Guard(func() error { return a.do(ctx) })
			return nil
		})
	}
	_ = sending.Wait()
	failed := slices.DeleteFunc(outcomes, func(err error) bool {
		return err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrGone) // the watch will say what it is now
	})
	if len(failed) > 0 && ctx.Err() == nil {
		k.Log.Warn("objects could not be written; they are tried again", "kind", k.Kind, "objects", len(failed), "error", failed[0])
	}
}

// keep is what makes the object of one name what it should be; nil for nothing.
func (k *Keeper) keep(view View, n Key, status bool) func(context.Context) error {
	made, written := k.found(n)
	if !written {
		delete(k.told, n)
	}
	want := view.Wanted(n)
	switch {
	case want == nil && made != nil:
		return func(ctx context.Context) error { return k.Writer.Delete(ctx, made.Ref, made.Report.Version) }
	case want == nil:
		return nil
	case written:
		return k.taken(n, want.Owner)
	case made == nil:
		return func(ctx context.Context) error {
			err := k.Writer.CreateOwned(ctx, want.Object, want.owner())
			if errors.Is(err, store.ErrExists) {
				return nil // the watch will say whose it is
			}
			return err
		}
	case !made.says(want):
		return func(ctx context.Context) error {
			return k.Writer.ReplaceOwned(ctx, want.Object, want.owner(), made.Report.Version)
		}
	case status && k.Report != nil:
		return k.Report(*made, want)
	}
	return nil
}

// taken says at an owner, once, that somebody else has its object.
func (k *Keeper) taken(n Key, owner *api.Object) func(context.Context) error {
	if k.Taken.Reason == "" || k.told[n] {
		return nil
	}
	return func(ctx context.Context) error {
		err := k.Writer.Warn(ctx, owner.Ref, owner.UID(), k.Taken.Reason, k.Taken.Note)
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.told[n] = true
		}
		return err
	}
}
