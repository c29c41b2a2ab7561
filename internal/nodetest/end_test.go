package nodetest_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// task is the document of a pod of a Job, which runs a script.
func task(name, script string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: "on", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: %s, uid: 5f7a9f0e-0000-4000-8000-000000000001, controller: true}]}
spec:
  restartPolicy: Never
  containers:
    - name: app
      image: example.org/task:1
      command: [bash, -c, %q]
      securityContext: {runAsUser: 1000}
`, name, name, script)
}

// TestHowPodsEnd are rows 20 and 24 of spec/kubernetes.md 8.
func TestHowPodsEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	web := b.Service(service("on", "web"))
	b.Create(workload("on", "web-1", "web"))
	b.Run("row 20: a Job that calls the mesh and exits 0", func(t *testing.T) {
		job := b.Begin(task("good", fmt.Sprintf(`exec 3<>/dev/tcp/%s/80; printf 'GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n' >&3; answer=$(cat <&3); echo "$answer"; [[ $answer == *"200 OK"* && $answer == *"x-pod: web-1"* ]]`, web)))
		b.dataplane("good", true)
		if phase := job.Complete(); phase != corev1.PodSucceeded {
			t.Errorf("it is %s: %s", phase, job.Said())
		}
		b.dataplane("good", false)
	})
	b.Run("a Job that fails", func(t *testing.T) {
		job := b.Begin(task("bad", "exit 3"))
		if phase := job.Complete(); phase != corev1.PodFailed {
			t.Errorf("it is %s: %s", phase, job.Said())
		}
		b.dataplane("bad", false)
	})
	b.Run("row 24: a drain time that the pod does not live for", b.longDrain)
}

// dataplane waits until the control plane has the Dataplane of a pod of namespace on, or
// until it has none.
func (b *bed) dataplane(name string, there bool) {
	b.Helper()
	var out string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var err error
		if out, err = b.control[0].Exec(b.control[0].Spec.Containers[0].Name, "weft", "get", "dataplanes"); err == nil && strings.Contains(strings.Join(strings.Fields(out), " "), " on "+name+" ") == there {
			return
		}
	}
	b.Errorf("Dataplane of %s there: want %v\n%s", name, there, out)
}

// longDrain: a sidecar that answers to the end stops before it is killed, whatever its
// annotation wants.
func (b *bed) longDrain(t *testing.T) {
	b.Service(strings.Replace(service("on", "slow"), "targetPort: http", "targetPort: 8082", 1))
	p := b.Create(workload("on", "slow-1", "slow", "kuma.io/sidecar-drain-time: 90s"))
	asked, over := make(chan struct{}), make(chan struct{})
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked); <-over })}
	go func() { _ = s.Serve(p.Net.Listen(1000, ":8082")) }() // of a server that pays no heed to signals
	defer func() { close(over); _ = s.Close() }()
	caller := b.Create(workload("bare", "caller-1", "caller"))
	conn, err := caller.Net.Connect(1000, "tcp", netip.AddrPort{}, netip.AddrPortFrom(p.Net.IPv4, 8082))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: slow\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatalf("the request did not arrive: %s", p.Said())
	}
	// It would be killed after 30 seconds; a busy machine may add some, but not 60.
	if took := p.Terminate("weft-sidecar", 60*time.Second); took < 20*time.Second {
		t.Errorf("it waited for no more than %v: %s", took, p.Said())
	}
}
