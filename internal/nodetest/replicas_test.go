package nodetest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/nodetest"
)

// TestTwoReplicas: a control plane of two, whose sidecars are real. What is applied is counted
// on all of them; when one is killed, and when one is stopped as a rollout does, the other
// leads and has the sidecars, and requests notice neither.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	b := newBed(t, "replicas=2")
	web := "http://" + b.Service(service("on", "web")) + ":80/"
	var pods []*nodetest.Pod
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		pods = append(pods, b.Create(workload("on", name, "web")))
	}
	client := b.Create(workload("on", "client-1", "client"))
	pods = append(pods, client)
	for _, p := range b.control {
		b.eventually(p.Name+" knows of all sidecars", func() bool { return b.inSync(p) == len(pods) })
	}
	if out, err := b.control[0].Exec("control-plane", "weft", "inspect", "clusters", pods[0].Name+".on"); err != nil || !strings.Contains(out, "web") {
		t.Errorf("a question to an Envoy, wherever it is: %v %s", err, out)
	}
	b.counted("first", len(pods))

	calls := b.calling(client, web)
	leader := b.leader()
	dead := b.control[leader]
	killed := time.Now()
	dead.Signal("control-plane", syscall.SIGKILL)
	left := b.control[1-leader]
	b.eventually("the other replica has all sidecars", func() bool { return b.inSync(left) == len(pods) })
	b.eventually("it leads", func() bool { return b.holder() == left.Name })
	t.Logf("%s leads %v after the other was killed", left.Name, time.Since(killed))
	b.counted("second", len(pods))

	third := b.Create(b.another(left, "weft-2"))
	b.eventually("a new replica knows of all sidecars", func() bool { return b.inSync(third) == len(pods) })
	left.Delete()
	b.eventually("the new replica leads", func() bool { return b.holder() == third.Name })
	b.eventually("it has all sidecars", func() bool { return b.inSync(third) == len(pods) })
	b.counted("third", len(pods))
	calls()
}

// eventually polls until cond holds.
func (b *bed) eventually(what string, cond func() bool) {
	b.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			_, policies := b.Send(b.T, http.MethodGet, "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtimeouts", nil)
			b.Logf("%v", policies["items"])
			for _, p := range b.control {
				b.Log(p.Said())
			}
			b.Fatalf("not in a minute: %s", what)
		}
	}
}

// inSync is how many sidecars a replica says are in sync; -1 where it cannot be asked.
func (b *bed) inSync(replica *nodetest.Pod) int {
	var o struct{ Sidecars struct{ InSync int } }
	out, err := replica.Exec("control-plane", "weft", "status", "-o", "json")
	if err != nil || json.Unmarshal([]byte(out), &o) != nil {
		return -1
	}
	return o.Sidecars.InSync
}

// holder is the name of the replica that has the Lease; empty for none.
func (b *bed) holder() string {
	_, got := b.Send(b.T, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/weft-system/leases/weft-leader", nil)
	spec, _ := got["spec"].(map[string]any)
	name, _ := spec["holderIdentity"].(string)
	return name
}

// leader is the number of the replica that leads.
func (b *bed) leader() (n int) {
	b.Helper()
	b.eventually("a replica leads", func() bool {
		for i, p := range b.control {
			if n = i; p.Name == b.holder() {
				return true
			}
		}
		return false
	})
	return n
}

// counted applies a policy, and waits until its status says that all sidecars have it.
func (b *bed) counted(name string, all int) {
	b.Helper()
	b.ApplyText(fmt.Sprintf(`
apiVersion: kuma.io/v1alpha1
kind: MeshTimeout
metadata: {name: %s, namespace: weft-system, labels: {kuma.io/mesh: default}}
spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 17s}}}]}
`, name))
	var o struct{ Total, Applied int }
	b.eventually("the status of policy "+name+" counts all sidecars", func() bool {
		_, got := b.Send(b.T, http.MethodGet, "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtimeouts/"+name, nil)
		status, _ := got["status"].(map[string]any)
		text, err := json.Marshal(status["dataplanes"])
		return err == nil && json.Unmarshal(text, &o) == nil && o.Total == all && o.Applied == all
	})
}

// another is the document of a replica like one that runs.
func (b *bed) another(like *nodetest.Pod, name string) string {
	b.Helper()
	_, got := b.Send(b.T, http.MethodGet, "/api/v1/namespaces/weft-system/pods/"+like.Name, nil)
	document := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": got["spec"],
		"metadata": map[string]any{"name": name, "namespace": like.Namespace, "labels": maps.Clone(like.Labels)}}
	text, err := json.Marshal(document)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// calling sends requests until the function that it returns is called, which fails the test
// if one of them was not answered.
func (b *bed) calling(client *nodetest.Pod, url string) (end func()) {
	stop, failed := make(chan struct{}), make(chan string, 1)
	var calls sync.WaitGroup
	asked := 0
	calls.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			asked++
			if got, err := client.Ask(url); err != nil || got.Status != http.StatusOK {
				select {
				case failed <- fmt.Sprintf("request %d: %+v, %v", asked, got, err):
				default:
				}
			}
		}
	})
	return func() {
		b.Helper()
		close(stop)
		calls.Wait()
		select {
		case what := <-failed:
			b.Error(what)
		default:
		}
		b.Logf("%d requests were answered", asked)
	}
}
