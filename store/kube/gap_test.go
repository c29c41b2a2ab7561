package kube_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/store"
)

// TestAPIServerGapsAreCaughtUp: what happened while the API server could not be heard arrives
// once, also where it has forgotten how it happened, and nothing else is touched.
func TestAPIServerGapsAreCaughtUp(t *testing.T) {
	t.Parallel()
	for name, forgets := range map[string]bool{"it still knows what happened": false, "it has forgotten what happened": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := kubetest.Start(t)
			install(t, c, "meshtimeouts")
			line := c.Line(t)
			s := openAt(t, c, line.URL)
			if err := s.Synced(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, n := range []string{"edited", "deleted", "replaced", "untouched"} {
				send(t, c, http.MethodPost, retries, retry(n, 1), http.StatusCreated)
			}
			ref := func(n string) api.Ref { return retryRef("default", "default", n) }
			eventually(t, "all arrive", func() bool {
				return s.Snapshot().Has(ref("edited")) && s.Snapshot().Has(ref("deleted")) && s.Snapshot().Has(ref("replaced")) && s.Snapshot().Has(ref("untouched"))
			})
			_, w := s.Watch()
			defer w.Stop()

			line.Cut()
			eventually(t, "it is not heard", func() bool { return s.Stale() > 0 })
			replace(t, c, retries+"/edited", retry("edited", 2))
			send(t, c, http.MethodDelete, retries+"/deleted", nil, http.StatusOK)
			send(t, c, http.MethodDelete, retries+"/replaced", nil, http.StatusOK)
			send(t, c, http.MethodPost, retries, retry("replaced", 3), http.StatusCreated)
			send(t, c, http.MethodPost, retries, retry("passing", 1), http.StatusCreated)
			send(t, c, http.MethodDelete, retries+"/passing", nil, http.StatusOK)
			if forgets {
				c.Compact(t)
				c.Stop() // what it remembers itself goes with it
				c.Restart(t)
			}
			line.Mend()
			send(t, c, http.MethodPost, retries, retry("last", 1), http.StatusCreated)

			got := heardUntil(t, w, ref("last"))
			want := map[string]string{"edited": "updated", "deleted": "deleted", "replaced": "updated", "last": "created"}
			delete(got, "passing") // which may be heard of or not
			if !forgets && got["replaced"] == "created" {
				want["replaced"] = "created" // after its end, which was heard in another step
			}
			if !maps.Equal(got, want) {
				t.Errorf("heard %v, want %v", got, want)
			}
			if o, ok := s.Snapshot().Get(ref("replaced")); !ok || o.Generation != 1 {
				t.Errorf("what took the place of another: %+v", o)
			}
			eventually(t, "all is followed again", func() bool { return s.Stale() == 0 })
		})
	}
}

// heardUntil is what has happened to MeshRetries until one appears, by their names: the last
// of several.
func heardUntil(t *testing.T, w store.Watch, last api.Ref) map[string]string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for got := map[string]string{}; ; {
		now, changes, err := w.Next(ctx)
		if err != nil {
			t.Fatal(fmt.Errorf("%w after %v", err, got))
		}
		for _, c := range changes {
			if c.Ref().Kind != last.Kind {
				if c.After == nil {
					t.Errorf("%s is gone", c.Ref())
				}
				continue
			}
			switch {
			case c.After == nil:
				got[c.Ref().Name] = "deleted"
			case c.Before == nil:
				got[c.Ref().Name] = "created"
			default:
				got[c.Ref().Name] = "updated"
			}
		}
		if now.Has(last) {
			return got
		}
	}
}
