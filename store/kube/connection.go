package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// connection is a list and watch of one resource, of which it is known whether the API
// server answers it.
type connection struct {
	resource
	of   *Store
	stop context.CancelFunc
	done chan struct{} // closed when it has stopped
	// optional takes a failure of a list that is no absence, and waits until it is worth another
	// try; nil takes none.
	optional func(context.Context, error) bool
}

// absence is since when the API server does not answer, and why.
type absence struct {
	since time.Time
	why   error
}

// The pauses between attempts to reach the API server: after an outage everything is
// caught up within 10 s (spec/kubernetes.md 8, case 55).
var pauses = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 4 * time.Second}

// quiet is a context in which client-go logs nothing: a connection tells when the API
// server goes away and when it is back.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// nothing is the watch that client-go makes of a connection that is closed, or on which nothing
// comes in time, without an error.
var nothing = reflect.TypeOf(watch.NewEmptyWatch())

var errNothing = errors.New("the connection ends without an answer")

// requests are what a connection asks.
type requests struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// run keeps into in step with the resource until ctx ends. Where the API server has
// forgotten what happened meanwhile it lists again, and into is told the whole.
func (c *connection) run(ctx context.Context, ask requests, into cache.ReflectorStore) {
	backoff := pauses
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = c.selector
			list, err := ask.list(ctx, o)
			if err == nil || c.optional == nil || !c.optional(ctx, err) {
				c.heard(ctx, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = c.selector
			w, err := ask.watch(ctx, o)
			switch {
			case err == nil && reflect.TypeOf(w) == nothing:
				c.heard(ctx, errNothing)
			case c.optional != nil && apierrors.IsForbidden(err): // the list that follows says so
			default:
				c.heard(ctx, err)
			}
			return w, err
		},
	}
	cache.NewReflectorWithOptions(lw, nil, into, cache.ReflectorOptions{Name: c.resource.String(), TypeDescription: c.kind, Backoff: &backoff}).RunWithContext(ctx)
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.away, c)
}

// heard notes whether the API server has answered.
func (c *connection) heard(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s := c.of
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.away[c]
	switch {
	case err == nil && before != nil:
		delete(s.away, c)
		s.cfg.Log.Info("the API server answers again", "resource", c.resource.String(), "after", time.Since(before.since).Round(time.Millisecond))
	case err != nil && before == nil:
		s.away[c] = &absence{time.Now(), err}
		s.cfg.Log.Warn("the API server does not answer; what was read last stays in force", "resource", c.resource.String(), "error", err)
	case err != nil:
		before.why = err
	}
}

// Stale is for how long some resource has not been followed; zero while all are.
func (s *Store) Stale() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := time.Duration(0)
	for _, a := range s.away {
		longest = max(longest, time.Since(a.since))
	}
	return longest
}

// Waiting is why nothing is served yet: which resources were not read, and what the API
// server says about them. Nil when everything was.
func (s *Store) Waiting() error {
	select {
	case <-s.synced:
		return nil
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	for f := range s.feeds {
		if !f.synced {
			missing = append(missing, f.resource.String())
		}
	}
	slices.Sort(missing)
	var why error // of several always the same one
	for _, a := range s.away {
		if why == nil || a.why.Error() > why.Error() {
			why = a.why
		}
	}
	if why == nil {
		return fmt.Errorf("%w: %s", errWaiting, strings.Join(missing, ", "))
	}
	return fmt.Errorf("%w: %s: %w", errWaiting, strings.Join(missing, ", "), why)
}
