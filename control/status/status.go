// Package status writes to the cluster how policies and routes fare: the statuses that the
// API shows under _status, in the form that Kubernetes has for each kind (spec/kubernetes.md
// 6.3).
//
// It promises to write only what differs from what stands there; an edited object's status
// as soon as its Envoys have answered or after a second, then at most one per object and
// Pace; to read nothing for it but what the store follows anyway; and to leave what others
// write alone. What it computes costs what was edited, and besides, at most each Pace and
// however much happens, one look at all that may have followed from it.
package status

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// The rhythm of statuses.
const (
	Pace = 5 * time.Second // between two writes of one object, and between two looks at all
	// ServicePace is that of services, generators of their names and meshes, whose counts
	// change with every pod.
	ServicePace = 10 * time.Second

	patience = time.Second            // for the Envoys that an edit concerns
	tick     = 100 * time.Millisecond // between looks at what was edited
	share    = 20                     // a look at all takes at most one part in so many of the time
	some     = 64                     // edits that are looked at one by one
	atOnce   = 8                      // requests
	batch    = 200                    // writes between looks at what was edited
)

// Plane is the control plane whose objects are reported.
type Plane interface {
	// Model is what holds; nil while nothing was resolved.
	Model() *resolve.Model
	Sidecars() []inspect.Sidecar
	Sidecar(api.Ref) (inspect.Sidecar, bool)
	Problems() []*api.Violation
	// Resolving is beside how many dataplanes of a mesh its names resolve.
	Resolving(mesh string) int
	// SidecarChanges counts what sidecars have done.
	SidecarChanges() uint64
}

// Config says whose statuses are written where.
type Config struct {
	Plane   Plane
	Store   *kube.Store
	Catalog *api.Catalog
	Writer  *writing.Writer
	// Count is told of each write: written, outdated (it will be written again) or failed.
	Count func(outcome string)
	Log   *slog.Logger
}

// Reporter writes statuses while its replica leads.
type Reporter struct {
	Config

	mu     sync.Mutex
	edited map[api.Ref]time.Time // since when an edit waits for its Envoys
	missed bool                  // there were more edits than are looked at one by one

	wrote    map[api.Ref]wrote // not longer than lastPause ago
	failing  failing
	answered map[api.Ref]bool // the objects for which no Envoy had yet to answer at the last look
	rest     rest             // of the writes of the last look at all, for which there was no room yet
	much     bool             // the last look found more than one batch
	owed     bool             // something is to be written that could not be
	changes  uint64           // at the last look at all
	revision uint64
	refusals uint64
	next     time.Time // earliest look at all
}

// New is a reporter of a control plane.
func New(c Config) *Reporter { return &Reporter{Config: c} }

// Run writes until ctx ends.
func (r *Reporter) Run(ctx context.Context) error {
	r.edited, r.wrote, r.failing, r.answered, r.rest, r.much, r.owed, r.next = map[api.Ref]time.Time{}, map[api.Ref]wrote{}, failing{}, nil, rest{}, false, true, time.Time{}
	return Keep(ctx, r.Store, tick, r.note, r.step)
}

// note notes what users edit.
func (r *Reporter) note(changes []snapshot.Change) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		if t, _ := r.Catalog.Type(c.Ref().Kind); !t.HasStatus() || c.After == nil || store.SaysNothingNew(c) {
			continue
		}
		if len(r.edited) < some {
			r.edited[c.Ref()] = now
		} else {
			r.missed = true
		}
	}
}

// step writes what is due.
func (r *Reporter) step(ctx context.Context, now time.Time) {
	m := r.Plane.Model()
	if m == nil {
		return
	}
	maps.DeleteFunc(r.wrote, func(_ api.Ref, w wrote) bool { return now.Sub(w.at) >= lastPause })
	writes := r.afterEdits(m, now)
	stirred, revision, refusals := r.Plane.SidecarChanges(), m.Snapshot().Revision(), r.Store.Refusals()
	if r.rest.empty() && !now.Before(r.next) && (r.owed || stirred != r.changes || revision != r.revision || refusals != r.refusals || r.failing.due(now)) {
		r.changes, r.revision, r.refusals, r.owed = stirred, revision, refusals, false
		r.rest = rest{r.all(ctx, m, now), now}
		r.next = time.Now().Add(max(Pace, share*time.Since(now)))
		r.much = len(r.rest.writes) > batch
	}
	some, outdated := r.rest.take(batch, r.outdated) // edits do not wait for all of them
	r.owed = r.owed || outdated
	if r.much && r.rest.empty() { // what was found first is old by now
		r.much, r.owed, r.next = false, true, now
	}
	r.send(ctx, append(writes, some...))
}

// outdated reports whether a write of a look at all at that time is not to be made any more:
// the object was edited or written since, or is another at the API server.
func (r *Reporter) outdated(w *write, looked time.Time) bool {
	r.mu.Lock()
	_, waits := r.edited[w.ref]
	r.mu.Unlock()
	had, there := r.Store.Report(w.ref)
	return waits || !there || had.Version != w.version || r.wrote[w.ref].at.After(looked)
}

// afterEdits are the writes of edited objects whose Envoys have answered, or were waited for
// long enough.
func (r *Reporter) afterEdits(m *resolve.Model, now time.Time) []*write {
	r.mu.Lock()
	edited := maps.Clone(r.edited)
	if r.missed {
		r.missed, r.owed, r.next = false, true, now
	}
	r.mu.Unlock()
	var out []*write
	problems := sync.OnceValue(r.Plane.Problems)
	for _, ref := range slices.SortedFunc(maps.Keys(edited), api.Ref.Compare) {
		late := now.Sub(edited[ref]) >= patience
		f, err := r.one(m.Reader(nil), ref, problems)
		switch {
		case err != nil && !late: // it is not resolved yet, or gone again
			continue
		case err != nil:
		case !late && (f.pending || !r.current(m, ref)):
			continue
		default:
			out = append(out, r.due(m, f, now)...)
		}
		r.mu.Lock()
		if r.edited[ref] == edited[ref] {
			delete(r.edited, ref)
		}
		r.mu.Unlock()
	}
	return out
}

// all are the writes of all objects but those that wait for their Envoys: users have edited them, or the
// look before found them with all Envoys. An edit concerns many objects that share what is sent, and none
// is worth a write for the second that it is on its way; by the next look as a rule nothing is to be written.
func (r *Reporter) all(ctx context.Context, m *resolve.Model, now time.Time) []*write {
	sidecars, problems := r.Plane.Sidecars(), r.Plane.Problems()
	r.mu.Lock()
	waiting := maps.Clone(r.edited)
	r.mu.Unlock()
	var out []*write
	answered := map[api.Ref]bool{}
	take := func(found []finding) {
		for _, f := range found {
			if f.pending && r.answered[f.ref] {
				r.owed = true
				continue
			}
			if !f.pending {
				answered[f.ref] = true
			}
			if _, waits := waiting[f.ref]; !waits {
				out = append(out, r.due(m, f, now)...)
			}
		}
	}
	q := m.Reader(func() bool { return ctx.Err() != nil })
	take(r.generators(q, problems))
	for mesh := range m.Snapshot().OfKind(api.KindMesh) {
		found := r.ofMesh(q, mesh.Name, sidecars, problems)
		if ctx.Err() != nil {
			return nil // what was found is not whole
		}
		take(found)
	}
	r.answered = answered
	return out
}

// send writes, and notes what has to be tried again.
func (r *Reporter) send(ctx context.Context, writes []*write) {
	var sending errgroup.Group
	sending.SetLimit(atOnce)
	outcomes := make([]error, len(writes))
	for i, w := range writes {
		sending.Go(func() error {
			outcomes[i] = Guard(func() error { return r.write(ctx, w) })
			return nil
		})
	}
	_ = sending.Wait()
	failed, now := 0, time.Now()
	var why error
	for i, err := range outcomes {
		switch {
		case err == nil:
			r.Count("written")
			r.stands(writes[i], now)
		case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrGone):
			r.Count("outdated")
			r.owed = true
		default:
			r.Count("failed")
			r.failing.add(writes[i].ref, now)
			failed, why = failed+1, err
		}
	}
	if failed > 0 && ctx.Err() == nil {
		r.Log.Warn("statuses could not be written; they are tried again", "statuses", failed, "error", why)
	}
}
