package uninjected_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/uninjected"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube/writing"
	"github.com/weftmesh/weft/store/memory"
)

var made = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func space(name string, labels map[string]string) *api.Object {
	return &api.Object{Ref: api.Ref{Kind: api.KindNamespace, Mesh: api.DefaultMesh, Name: name}, Labels: labels, Meta: &api.Meta{UID: "uid of " + name}, Spec: new(api.Namespace)}
}

// pod is one of namespace on; change makes another of it.
func pod(name string, change func(*api.Object, *api.Pod)) *api.Object {
	spec := &api.Pod{Spec: api.PodSpec{Containers: []api.Container{{Name: "app"}}}}
	o := &api.Object{Ref: api.Ref{Kind: api.KindPod, Mesh: api.DefaultMesh, Namespace: "on", Name: name}, Meta: &api.Meta{UID: "uid of " + name}, Spec: spec}
	if change != nil {
		change(o, spec)
	}
	return o
}

func owned(kind, apiVersion, name string) func(*api.Object, *api.Pod) {
	return func(o *api.Object, _ *api.Pod) {
		o.Meta.Owners = []api.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid of " + name, Controller: true}}
	}
}

func enabled(name string) *api.Object {
	return space(name, map[string]string{inject.LabelInjection: "enabled"})
}

// put writes objects at once.
func put(t interface{ Fatal(...any) }, s store.Store, objects ...*api.Object) {
	var writes []store.Write
	for _, o := range objects {
		writes = append(writes, store.Write{Put: o})
	}
	if _, _, err := s.Apply(context.Background(), store.Writes(writes...)); err != nil {
		t.Fatal(err)
	}
}

// following is a finder of what s holds, in a bubble of time.
func following(t *testing.T, s store.Store) *uninjected.Tracker {
	t.Helper()
	f := uninjected.New(inject.Default("dev"), time.Now)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Follow(ctx, s) }()
	t.Cleanup(func() { stop(); <-done })
	return f
}

func problems(f *uninjected.Tracker) string {
	var lines []string
	for _, v := range f.Problems() {
		lines = append(lines, v.Object.String()+" "+v.Code+" "+v.Message)
	}
	return strings.Join(lines, "\n")
}

// TestWhatIsBare: which pods count, and what is said of them.
func TestWhatIsBare(t *testing.T) {
	t.Parallel()
	replicas := &api.Object{Ref: api.Ref{Kind: api.KindReplicaSet, Mesh: api.DefaultMesh, Namespace: "on", Name: "web-5d"}, Spec: new(api.Bystander),
		Meta: &api.Meta{Owners: []api.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid of web"}}}}
	for name, c := range map[string]struct {
		objects []*api.Object
		hooks   time.Duration // when the hooks were made, from now
		says    string        // of its problems, all of these; empty is that there are none
	}{
		"row 28, older than the hook": {[]*api.Object{pod("old", nil)}, time.Hour, "Pod/default/on/old NotInjected CreatedBeforeInjector: it has no sidecar"},
		"made past the hook":          {[]*api.Object{pod("new", nil)}, -time.Hour, "Bypassed: it has no sidecar"},
		"of a Deployment": {[]*api.Object{replicas, pod("web-1", owned("ReplicaSet", "apps/v1", "web-5d")), pod("web-2", owned("ReplicaSet", "apps/v1", "web-5d"))},
			time.Hour, "Deployment/default/on/web NotInjected CreatedBeforeInjector: 2 of its pods, such as web-1, have no sidecar|kubectl rollout restart deployment/web -n on"},
		"of a StatefulSet":  {[]*api.Object{pod("db-0", owned("StatefulSet", "apps/v1", "db"))}, time.Hour, "StatefulSet/default/on/db NotInjected CreatedBeforeInjector: its pod db-0 has no sidecar|rollout restart statefulset/db"},
		"with a sidecar":    {[]*api.Object{pod("p", func(_ *api.Object, p *api.Pod) { p.Spec.InitContainers = []api.Container{{Name: api.SidecarContainer}} })}, time.Hour, ""},
		"ended":             {[]*api.Object{pod("p", func(_ *api.Object, p *api.Pod) { p.Status.Phase = "Succeeded" })}, time.Hour, ""},
		"on its way out":    {[]*api.Object{pod("p", func(o *api.Object, _ *api.Pod) { o.Meta.Deleting = true })}, time.Hour, ""},
		"that wants none":   {[]*api.Object{pod("p", func(o *api.Object, _ *api.Pod) { o.Labels = map[string]string{inject.LabelInjection: "disabled"} })}, time.Hour, ""},
		"of the host":       {[]*api.Object{pod("p", func(_ *api.Object, p *api.Pod) { p.Spec.HostNetwork = true })}, time.Hour, ""},
		"of Windows":        {[]*api.Object{pod("p", func(_ *api.Object, p *api.Pod) { p.Spec.OS = &api.PodOS{Name: "windows"} })}, time.Hour, ""},
		"of a Windows node": {[]*api.Object{pod("p", func(_ *api.Object, p *api.Pod) { p.Spec.NodeSelector = map[string]string{api.LabelOS: "windows"} })}, time.Hour, ""},
		"a mirror pod":      {[]*api.Object{pod("p", owned("Node", "v1", "node-1"))}, time.Hour, ""},
		"elsewhere":         {[]*api.Object{space("off", nil), pod("p", func(o *api.Object, _ *api.Pod) { o.Namespace = "off" })}, time.Hour, ""},
		"that asks for it elsewhere": {[]*api.Object{space("off", nil), pod("p", func(o *api.Object, _ *api.Pod) {
			o.Namespace, o.Labels = "off", map[string]string{inject.LabelInjection: "enabled"}
		})}, time.Hour, "Pod/default/off/p NotInjected"},
		"row 13, a label that is no answer": {[]*api.Object{space("odd", map[string]string{inject.LabelInjection: "On"})}, time.Hour, `Namespace/odd InvalidNamespaceLabel "On" is no answer|write enabled or disabled`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memory.New(snapshot.New(0), nil, time.Now)
				put(t, s, append(c.objects, enabled("on"))...)
				f := following(t, s)
				f.Hooks(time.Now().Add(c.hooks))
				synctest.Wait()
				got := problems(f)
				for _, want := range strings.Split(c.says, "|") {
					if !strings.Contains(got, want) || c.says == "" && got != "" {
						t.Errorf("want %q, got %q", want, got)
					}
				}
			})
		})
	}
}

// TestWithoutHooks: that nobody injects is said after a while, since an installation applies
// its webhooks last.
func TestWithoutHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(snapshot.New(0), nil, time.Now)
		put(t, s, enabled("on"), pod("p", nil))
		f := following(t, s)
		synctest.Wait()
		if f.Count() != 1 || problems(f) != "" {
			t.Errorf("before anybody has asked for webhooks: %d, %s", f.Count(), problems(f))
		}
		f.Hooks(time.Time{})
		if problems(f) != "" {
			t.Errorf("at once: %s", problems(f))
		}
		time.Sleep(2 * time.Minute)
		if got := problems(f); !strings.Contains(got, "Bypassed: it has no sidecar, and is made while there are no webhooks, which `weft install control-plane` prints") {
			t.Errorf("later: %s", got)
		}
	})
}

// TestOneEventAnHour at one owner, however many pods it has and often they change; one that
// cannot be written is tried again.
func TestOneEventAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(snapshot.New(0), nil, time.Now)
		put(t, s, enabled("on"), pod("db-0", owned("StatefulSet", "apps/v1", "db")))
		f := following(t, s)
		f.Hooks(time.Now().Add(24 * time.Hour))
		synctest.Wait()
		var mu sync.Mutex
		var all []string
		wrote := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(all)
		}
		var failing atomic.Bool
		failing.Store(true)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- f.Tell(ctx, func(_ context.Context, about writing.About, reason, note string) error {
				if failing.Load() {
					return errors.New("the API server is away")
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, fmt.Sprintf("%+v %s %s", about, reason, note))
				return nil
			}, slog.New(slog.DiscardHandler))
		}()
		time.Sleep(10 * time.Second)
		failing.Store(false)
		time.Sleep(5 * time.Minute)
		if got := wrote(); len(got) != 1 || !strings.HasPrefix(got[0], "{APIVersion:apps/v1 Kind:StatefulSet Namespace:on Name:db UID:uid of db} NotInjected CreatedBeforeInjector: ") {
			t.Fatalf("%d events: %v", len(got), got)
		}
		for i := range 20 {
			put(t, s, pod(fmt.Sprintf("db-%d", i), owned("StatefulSet", "apps/v1", "db")))
			time.Sleep(time.Minute)
		}
		if got := wrote(); len(got) != 1 {
			t.Fatalf("within the hour: %v", got)
		}
		time.Sleep(time.Hour)
		if got := wrote(); len(got) != 2 || !strings.Contains(got[1], "20 of its pods") {
			t.Fatalf("after it: %v", got)
		}
		put(t, s, space("on", nil))
		time.Sleep(2 * time.Hour)
		if got := wrote(); len(got) != 2 || f.Count() != 0 {
			t.Errorf("%d are without one where nobody wants sidecars: %v", f.Count(), got)
		}
		stop()
		<-done
	})
}

// TestFollowingIsFinding: after whatever happened the finder knows what one would that looked
// at it afterwards.
func TestFollowingIsFinding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := memory.New(snapshot.New(0), nil, time.Now)
		follow := func() (*uninjected.Tracker, func()) {
			f := uninjected.New(inject.Default("dev"), func() time.Time { return made })
			f.Hooks(made)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); f.Follow(ctx, s) }()
			return f, func() { stop(); <-done }
		}
		f, end := follow()
		defer end()
		for range rapid.IntRange(1, 30).Draw(r, "changes") {
			namespace := rapid.SampledFrom([]string{"on", "other"}).Draw(r, "namespace")
			if rapid.IntRange(0, 3).Draw(r, "what") == 0 {
				labels := map[string]string{inject.LabelInjection: rapid.SampledFrom([]string{"enabled", "disabled", "On"}).Draw(r, "label")}
				put(r, s, space(namespace, labels))
				continue
			}
			p := pod(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "pod"), func(o *api.Object, p *api.Pod) {
				o.Namespace, o.Mesh = namespace, rapid.SampledFrom([]string{"default", "blue"}).Draw(r, "mesh")
				if rapid.Bool().Draw(r, "has a sidecar") {
					p.Spec.Containers = append(p.Spec.Containers, api.Container{Name: api.SidecarContainer})
				}
			})
			writes := []store.Write{{Put: p}}
			for _, mesh := range []string{"default", "blue"} { // one pod of a name
				if at := (api.Ref{Kind: api.KindPod, Mesh: mesh, Namespace: namespace, Name: p.Name}); at != p.Ref || rapid.IntRange(0, 3).Draw(r, "gone") == 0 {
					if s.Snapshot().Has(at) {
						writes = append(writes, store.Write{Delete: &at})
					}
				}
			}
			if len(writes) > 1 && *writes[len(writes)-1].Delete == p.Ref {
				writes = writes[1:]
			}
			if _, _, err := s.Apply(context.Background(), store.Writes(writes...)); err != nil {
				r.Fatal(err)
			}
		}
		fresh, endFresh := follow()
		defer endFresh()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			if a, b := problems(f), problems(fresh); a == b && f.Seen() == s.Snapshot().Revision() && fresh.Seen() == f.Seen() && f.Count() == fresh.Count() {
				return
			} else if time.Now().After(deadline) {
				r.Fatalf("followed %d: %s\nfound %d: %s", f.Count(), a, fresh.Count(), b)
			}
		}
	})
}
