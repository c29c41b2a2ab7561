package election_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube/election"
)

const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/weft-leader"

func connection(c *kubetest.Cluster) *rest.Config {
	return &rest.Config{Host: c.URL, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA}}
}

// replica is a process that takes part.
type replica struct {
	*election.Elector
	leading atomic.Bool
	terms   atomic.Int32
	stop    func()
}

// join lets a replica take part until the test ends. Among is told of those that lead at once.
func join(t *testing.T, c *kubetest.Cluster, name string, among *roll) *replica {
	t.Helper()
	e, err := election.New(election.Config{REST: connection(c), Namespace: "kube-system", Name: "weft-leader", Identity: name, Says: func() map[string]string { return map[string]string{"weft.io/leader-said": name, "weft.io/nothing": ""} }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Elector: e}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.stop = sync.OnceFunc(func() { stop(); <-done })
	t.Cleanup(r.stop)
	go func() {
		defer close(done)
		e.Run(ctx, func(ctx context.Context) {
			among.begins(name)
			r.terms.Add(1)
			r.leading.Store(true)
			<-ctx.Done()
			r.leading.Store(false)
			among.ends(name)
		})
	}()
	return r
}

// roll is who leads at the same time.
type roll struct {
	mu     sync.Mutex
	now    []string
	two    bool
	orders []string
}

func (r *roll) begins(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.orders = append(r.now, name), append(r.orders, name)
	r.two = r.two || len(r.now) > 1
}

func (r *roll) ends(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = slices.DeleteFunc(r.now, func(n string) bool { return n == name })
}

func (r *roll) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.two {
		t.Errorf("two led at once, in the order of %v", r.orders)
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for: %s", what)
		}
	}
}

// TestAPIServerHasOneLeader: one of two leads; when it stops the other does, and what others
// have written on the Lease stays.
func TestAPIServerHasOneLeader(t *testing.T) {
	t.Parallel()
	c, among := kubetest.Start(t), &roll{}
	a := join(t, c, "a", among)
	eventually(t, "the first leads", a.leading.Load)
	b := join(t, c, "b", among)
	if status, got := c.Patch(t, lease, []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"weft.io/said": "yes"}}]`)); status != http.StatusOK {
		t.Fatalf("annotate the Lease: %d %v", status, got["message"])
	}
	before := renewed(t, c)
	eventually(t, "the Lease is renewed beside the annotation", func() bool { return renewed(t, c) != before })
	if _, got := c.Send(t, http.MethodGet, lease, nil); !strings.Contains(fmt.Sprint(got["metadata"]), "weft.io/leader-said:a") || !strings.Contains(fmt.Sprint(got["metadata"]), "weft.io/said:yes") {
		t.Errorf("the Lease says %v", got["metadata"])
	}
	if !a.Leads() || b.Leads() {
		t.Errorf("the first leads: %v, the second: %v", a.Leads(), b.Leads())
	}
	a.stop()
	eventually(t, "the second leads", b.leading.Load)
	among.check(t)
	_, got := c.Send(t, http.MethodGet, lease, nil)
	if said, _, _ := unstructured.NestedString(got, "metadata", "annotations", "weft.io/said"); said != "yes" {
		t.Errorf("the annotation of the Lease is %q", said)
	}
	if holder, _, _ := unstructured.NestedString(got, "spec", "holderIdentity"); holder != "b" {
		t.Errorf("the holder of the Lease is %q", holder)
	}
	b.stop()
	if _, got = c.Send(t, http.MethodGet, lease, nil); got["spec"].(map[string]any)["holderIdentity"] == "b" {
		t.Error("the last leader has not given the Lease back")
	}
}

func renewed(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	_, got := c.Send(t, http.MethodGet, lease, nil)
	said, _, _ := unstructured.NestedString(got, "spec", "renewTime")
	return said
}

// TestAPIServerTakesNothingOfAnExLeader: a leader whose Lease was taken, and one that cannot
// renew it, stop leading, and what they would still write is not sent.
func TestAPIServerTakesNothingOfAnExLeader(t *testing.T) {
	t.Parallel()
	c, among := kubetest.Start(t), &roll{}
	a := join(t, c, "a", among)
	eventually(t, "it leads", a.leading.Load)
	client, err := dynamic.NewForConfig(a.Fenced(connection(c)))
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
	write := func(name string) error {
		_, err := maps.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}, metav1.CreateOptions{})
		return err
	}
	if err := write("of-the-leader"); err != nil {
		t.Fatal(err)
	}
	steal := []byte(`[{"op": "replace", "path": "/spec/holderIdentity", "value": "thief"}]`)
	if status, got := c.Patch(t, lease, steal); status != http.StatusOK {
		t.Fatalf("steal the Lease: %d %v", status, got["message"])
	}
	eventually(t, "it leads no more", func() bool { return !a.leading.Load() && !a.Leads() })
	if err := write("of-an-ex-leader"); !errors.Is(err, store.ErrNotLeading) {
		t.Errorf("a write of an ex-leader: %v", err)
	}
	if _, err := maps.Get(t.Context(), "of-the-leader", metav1.GetOptions{}); err != nil {
		t.Errorf("an ex-leader cannot read: %v", err)
	}
	eventually(t, "the thief does not renew, and it leads again", a.leading.Load)
	c.Stop()
	eventually(t, "it cannot renew, and leads no more", func() bool { return !a.leading.Load() && !a.Leads() })
	c.Restart(t)
	if err := write("after-an-outage"); !errors.Is(err, store.ErrNotLeading) && !a.leading.Load() {
		t.Errorf("a write after an outage: %v", err)
	}
	eventually(t, "it leads again", a.leading.Load)
	if n := a.terms.Load(); n != 3 {
		t.Errorf("it has led %d times", n)
	}
	among.check(t)
}
