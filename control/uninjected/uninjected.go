// Package uninjected finds the pods of a cluster that should have a sidecar and have none, and
// says so: as a count, as problems, and as events at what the pods belong to
// (spec/kubernetes.md 4.6).
//
// It promises that a pod is decided by the same function as at its admission; that what a
// change costs follows from the pods without a sidecar that it concerns; and that nobody
// gets more than one event an hour, also from another replica. It deletes nothing.
package uninjected

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/store"
)

// Why a pod has no sidecar, as events and problems print it.
const (
	CreatedBeforeInjector = "CreatedBeforeInjector" // it is older than the webhooks
	Bypassed              = "Bypassed"              // the webhooks were not asked, or not yet for its namespace
)

// The reasons of events, and the codes of problems.
const (
	NotInjected           = "NotInjected"
	InvalidNamespaceLabel = "InvalidNamespaceLabel"
)

// settled is how long there may be no webhooks before it is said of pods that nobody
// injects them: an installation applies them last, an upgrade may make them anew.
const settled = time.Minute

// Tracker knows the pods without a sidecar of one cluster. It is safe for many goroutines.
type Tracker struct {
	config   inject.Config
	now      func() time.Time
	enqueued chan struct{} // has a token when there may be something to tell

	mu     sync.Mutex
	latest *snapshot.Snapshot
	spaces map[string]*space
	count  int
	hooks  hooks
	cached []Problem // by owner; nil when it is to be found again
}

// space is a namespace and those of its pods that run without a sidecar.
type space struct {
	object *api.Object // nil while it is not known
	plain  map[string]*plain
}

// plain is a pod without a sidecar.
type plain struct {
	object *api.Object
	wants  bool // it should have one
}

// hooks are the webhooks that inject.
type hooks struct {
	called bool      // the API server has said
	made   time.Time // zero where there are none
	since  time.Time // when that was heard
}

// New is a tracker that decides about pods by the values of the installation.
func New(c inject.Config, now func() time.Time) *Tracker {
	return &Tracker{config: c, now: now, enqueued: make(chan struct{}, 1), spaces: map[string]*space{}}
}

// Hooks tells when the webhooks that inject were made; zero where there are none.
func (f *Tracker) Hooks(made time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.hooks.called || f.hooks.made.IsZero() != made.IsZero() {
		f.hooks.since = f.now()
	}
	f.hooks.called, f.hooks.made, f.cached = true, made, nil
	f.wake()
}

// Follow looks at what a store holds and at what changes until ctx ends.
func (f *Tracker) Follow(ctx context.Context, s store.Store) {
	now, watch := s.Watch()
	defer watch.Stop()
	var first []snapshot.Change
	for _, kind := range []string{api.KindNamespace, api.KindPod} {
		for o := range now.OfKind(kind) {
			first = append(first, snapshot.Change{After: o})
		}
	}
	f.take(now, first)
	for {
		now, changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		f.take(now, changes)
	}
}

// Count is how many pods have no sidecar that should have one.
func (f *Tracker) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// take takes changes, those that remove first: a pod whose label kuma.io/mesh changes goes in
// one mesh and comes in another.
func (f *Tracker) take(now *snapshot.Snapshot, changes []snapshot.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest = now
	for _, removes := range []bool{true, false} {
		for _, c := range changes {
			if (c.After == nil) != removes {
				continue
			}
			switch at := c.Ref(); at.Kind {
			case api.KindNamespace:
				f.takeSpace(at.Name, c.After)
			case api.KindPod:
				f.takePod(at, c.After)
			case api.KindReplicaSet, api.KindJob:
				if f.count > 0 {
					f.cached = nil // another may be the owner of pods
				}
			}
		}
	}
	if f.cached == nil {
		f.wake()
	}
}

// takeSpace decides about the pods of a namespace again where its labels have changed.
func (f *Tracker) takeSpace(name string, now *api.Object) {
	s := f.space(name)
	before := s.object
	s.object = now
	if now == nil && len(s.plain) == 0 {
		delete(f.spaces, name)
	}
	if before != nil && now != nil && before.UID() == now.UID() && maps.Equal(before.Labels, now.Labels) {
		return
	}
	f.cached = nil
	for _, p := range s.plain {
		f.decide(s, p)
	}
}

// takePod takes the newest version of a pod, nil where it is gone.
func (f *Tracker) takePod(at api.Ref, now *api.Object) {
	s := f.space(at.Namespace)
	before := s.plain[at.Name]
	if now == nil || !runsPlain(now) {
		if before != nil {
			f.mark(before, false)
			delete(s.plain, at.Name)
		}
		return
	}
	p := &plain{object: now}
	if before != nil {
		p.wants = before.wants
	}
	s.plain[at.Name] = p
	f.decide(s, p)
}

func (f *Tracker) space(name string) *space {
	if f.spaces[name] == nil {
		f.spaces[name] = &space{plain: map[string]*plain{}}
	}
	return f.spaces[name]
}

// runsPlain reports whether a pod runs, or is about to, without a sidecar.
func runsPlain(o *api.Object) bool {
	pod, ok := o.Spec.(*api.Pod)
	ended := ok && (pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed") || o.Deleting()
	return ok && !ended && pod.Container(api.SidecarContainer) == nil
}

// decide decides whether a pod should have a sidecar.
func (f *Tracker) decide(s *space, p *plain) {
	f.mark(p, s.object != nil && inject.Decide(inject.PodOf(p.object), namespaceOf(s.object), f.config).Verdict == inject.Injects)
}

func (f *Tracker) mark(p *plain, wants bool) {
	if p.wants == wants {
		return
	}
	p.wants, f.cached = wants, nil
	if wants {
		f.count++
	} else {
		f.count--
	}
}

func namespaceOf(o *api.Object) inject.Namespace {
	out := inject.Namespace{Name: o.Name, Labels: o.Labels}
	if o.Meta != nil {
		out.Annotations = o.Meta.Annotations
	}
	return out
}

// wake says that there may be something to tell. It is called with mu held.
func (f *Tracker) wake() {
	select {
	case f.enqueued <- struct{}{}:
	default:
	}
}

// Problems are those of the pods, by what they belong to, and of the labels of namespaces.
func (f *Tracker) Problems() []*api.Violation {
	found, _ := f.found()
	out := make([]*api.Violation, len(found))
	for i, x := range found {
		out[i] = &api.Violation{Object: x.Owner.ref(), Field: x.Field, Code: x.Code, Message: x.Message, Severity: api.Warning}
	}
	return slices.Clip(out)
}
