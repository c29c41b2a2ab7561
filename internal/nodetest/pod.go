package nodetest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/internal/netnstest"
)

// Pod is a pod that runs.
type Pod struct {
	corev1.Pod
	Net *netnstest.Namespace

	node    *Node
	dir     string
	volumes map[string]string // directories by the names of volumes
	running []*container      // in the order of their start
	native  int               // of them are sidecars
	servers []*http.Server    // of its applications
	ready   atomic.Bool
	leaving atomic.Bool
}

// path is where the API server has it.
func (p *Pod) path() string { return "/api/v1/namespaces/" + p.Namespace + "/pods/" + p.Name }

// Create sends a document of a pod to the API server, whose webhooks may inject it, and runs
// what the API server made of it. It returns as soon as the pod is ready.
func (n *Node) Create(document string) *Pod {
	n.t.Helper()
	p := n.Begin(document)
	eventually(n.t, "pod "+p.Name+" is ready", p.Said, p.ready.Load)
	return p
}

// Begin is Create that does not wait until the pod is ready.
func (n *Node) Begin(document string) *Pod {
	n.t.Helper()
	d := kubetest.Document(n.t, document)
	meta, spec := d["metadata"].(map[string]any), d["spec"].(map[string]any)
	spec["nodeName"] = "node-1" // else its end would wait for nobody
	if spec["serviceAccountName"] == nil {
		spec["serviceAccountName"] = "default"
	}
	status, got := n.Send(n.t, http.MethodPost, fmt.Sprintf("/api/v1/namespaces/%v/pods?fieldValidation=Strict", meta["namespace"]), d)
	if status != http.StatusCreated {
		n.t.Fatalf("pod %v: %d %v", meta["name"], status, got["message"])
	}
	p := &Pod{node: n, Net: n.Network.Pod(), volumes: map[string]string{}}
	into(n.t, got, &p.Pod)
	p.dir = filepath.Join(n.dir, p.Namespace+"-"+p.Name)
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		n.t.Fatal(err)
	}
	p.hosts()
	p.mount()
	n.mu.Lock()
	n.pods[p.Namespace+"/"+p.Name] = p
	n.mu.Unlock()
	p.start()
	return p
}

// start runs the init containers in their order, and then the others.
func (p *Pod) start() {
	t := p.node.t
	t.Helper()
	p.report(corev1.PodPending)
	for i := range p.Spec.InitContainers {
		c := p.prepare(&p.Spec.InitContainers[i])
		c.start()
		if c.spec.RestartPolicy == nil {
			if <-c.done; c.cmd.ProcessState.ExitCode() != 0 {
				t.Fatalf("it ended with %v: %s", c.cmd.ProcessState, c.said())
			}
			continue
		}
		p.running = append(p.running, c)
		p.started(c)
	}
	p.native = len(p.running)
	for i := range p.Spec.Containers {
		spec := &p.Spec.Containers[i]
		if handler := p.node.app(spec.Image); handler != nil {
			p.serve(spec, handler)
			continue
		}
		c := p.prepare(spec)
		c.start()
		p.running = append(p.running, c)
		p.started(c)
	}
	watching := make(chan struct{})
	go func() { defer close(watching); p.watch() }()
	t.Cleanup(func() { p.leaving.Store(true); <-watching })
}

// started waits for the startup probe of a container.
func (p *Pod) started(c *container) {
	p.node.t.Helper()
	eventually(p.node.t, c.String()+" has started", c.said, func() bool {
		select {
		case <-c.done:
			p.node.t.Fatalf("it ended: %s", c.said())
		default:
		}
		return p.passes(c.spec.StartupProbe)
	})
}

// serve runs an application: an HTTP server at every port that the container declares.
func (p *Pod) serve(spec *corev1.Container, handler http.Handler) {
	p.node.t.Helper()
	s := &http.Server{Handler: named{p.Name, handler}, ReadHeaderTimeout: patience}
	for _, port := range spec.Ports {
		l := p.Net.Listen(appUser, net.JoinHostPort("", fmt.Sprint(port.ContainerPort)))
		go func() { _ = s.Serve(l) }() // it ends with the pod
	}
	p.servers = append(p.servers, s)
	p.node.t.Cleanup(func() { _ = s.Close() })
}

// appUser is who applications are.
const appUser = 1000

// watch keeps the status of the pod by its readiness probes, until it is told to end.
func (p *Pod) watch() {
	for ; !p.leaving.Load(); time.Sleep(50 * time.Millisecond) {
		ready := true
		for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range list {
				ready = ready && p.passes(list[i].ReadinessProbe)
			}
		}
		if p.ready.Load() != ready && !p.leaving.Load() {
			p.ready.Store(ready)
			p.report(corev1.PodRunning)
			p.node.publish()
		}
	}
}

// report writes the status of the pod.
func (p *Pod) report(phase corev1.PodPhase) {
	ready := corev1.ConditionFalse
	if p.ready.Load() {
		ready = corev1.ConditionTrue
	}
	s := corev1.PodStatus{Phase: phase, PodIP: p.Net.IPv4.String(), PodIPs: []corev1.PodIP{{IP: p.Net.IPv4.String()}}, HostIP: netnstest.WorldIPv4.String(),
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}
	of := func(list []corev1.Container) (out []corev1.ContainerStatus) {
		for _, c := range list {
			started := true
			out = append(out, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: phase == corev1.PodRunning && p.ready.Load() || c.Name == "weft-init", Started: &started,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
		}
		return out
	}
	if phase == corev1.PodRunning {
		s.InitContainerStatuses, s.ContainerStatuses = of(p.Spec.InitContainers), of(p.Spec.Containers)
	}
	text, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/status", "value": s}})
	if err != nil {
		p.node.t.Error(err)
		return
	}
	if status, got := p.node.Patch(p.node.t, p.path()+"/status", text); status != http.StatusOK {
		p.node.t.Errorf("status of pod %s: %d %v", p.Name, status, got["message"])
	}
}

// Delete ends a pod as the kubelet does: the endpoints first, then hooks, applications, and
// sidecars last.
func (p *Pod) Delete() {
	t := p.node.t
	t.Helper()
	if status, got := p.node.Send(t, http.MethodDelete, p.path(), nil); status != http.StatusOK {
		t.Fatalf("delete pod %s: %d %v", p.Name, status, got["message"])
	}
	p.leave()
	for _, c := range p.running {
		p.hook(c)
	}
	for _, s := range p.servers {
		_ = s.Shutdown(t.Context()) // as a server does at SIGTERM
	}
	for _, c := range slices.Backward(p.running) {
		c.end(p.grace())
	}
	p.forget()
	p.node.Send(t, http.MethodDelete, p.path()+"?gracePeriodSeconds=0", nil)
}

// end is SIGTERM, and SIGKILL after the grace period.
func (c *container) end(grace time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-c.done:
	case <-time.After(grace):
		c.pod.node.t.Errorf("%s did not end within %v", c, grace)
		c.kill()
	}
}

// Signal sends a signal to the program of a container.
func (p *Pod) Signal(container string, s syscall.Signal) {
	p.node.t.Helper()
	for _, c := range p.running {
		if c.spec.Name == container {
			if err := c.cmd.Process.Signal(s); err != nil {
				p.node.t.Fatal(err)
			}
			return
		}
	}
	p.node.t.Fatalf("pod %s has no container %s", p.Name, container)
}

// Exec runs a command in a container, as kubectl exec does.
func (p *Pod) Exec(container string, command ...string) (string, error) {
	for _, c := range p.running {
		if c.spec.Name == container {
			out, err := c.exec(command)
			return string(out), err
		}
	}
	return "", fmt.Errorf("pod %s has no container %s", p.Name, container)
}

// Said is what all containers printed.
func (p *Pod) Said() string {
	var out []string
	for _, c := range p.running {
		out = append(out, c.said())
	}
	return strings.Join(out, "\n")
}
