package nodetest

import (
	"net/http"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Complete waits until the containers of a pod have ended by themselves, as those of a Job
// do, and ends the pod as the kubelet does: native sidecars last, in reverse order, after
// their hooks. It is how the pod ended; the document stays.
func (p *Pod) Complete() corev1.PodPhase {
	t := p.node.t
	t.Helper()
	phase := corev1.PodSucceeded
	sidecars := p.running[:p.native]
	for _, c := range p.running[p.native:] {
		select {
		case <-c.done:
		case <-time.After(patience):
			t.Fatalf("%s has not ended in %v: %s", c, patience, p.Said())
		}
		if c.cmd.ProcessState.ExitCode() != 0 {
			phase = corev1.PodFailed
		}
	}
	p.leave()
	for _, c := range slices.Backward(sidecars) {
		p.hook(c)
		c.end(p.grace())
	}
	p.report(phase)
	p.forget()
	return phase
}

// Terminate tells the API server that a pod is to end and runs the hooks, and then tells
// containers to end, first those of the application. It is the time that a container took
// for it, which nobody kills before most is over.
func (p *Pod) Terminate(container string, most time.Duration) (took time.Duration) {
	t := p.node.t
	t.Helper()
	if status, got := p.node.Send(t, http.MethodDelete, p.path(), nil); status != http.StatusOK {
		t.Fatalf("delete pod %s: %d %v", p.Name, status, got["message"])
	}
	began := time.Now()
	p.leave()
	for _, c := range p.running {
		p.hook(c)
	}
	for _, s := range p.servers {
		_ = s.Close()
	}
	p.Signal(container, syscall.SIGTERM)
	for _, c := range p.running {
		if c.spec.Name != container {
			continue
		}
		select {
		case <-c.done:
		case <-time.After(most):
			t.Errorf("%s did not end within %v: %s", c, most, c.said())
		}
	}
	return time.Since(began)
}

// leave takes the pod out of its Services.
func (p *Pod) leave() {
	p.leaving.Store(true)
	p.node.publish()
}

// hook runs the preStop hook of a container.
func (p *Pod) hook(c *container) {
	p.node.t.Helper()
	if l := c.spec.Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Exec != nil {
		if out, err := c.exec(l.PreStop.Exec.Command); err != nil {
			p.node.t.Errorf("hook of %s: %v: %s\n%s", c, err, out, c.said())
		}
	}
}

// grace is how long containers may take to end.
func (p *Pod) grace() time.Duration {
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// forget takes the pod from the node.
func (p *Pod) forget() {
	p.node.mu.Lock()
	delete(p.node.pods, p.Namespace+"/"+p.Name)
	p.node.mu.Unlock()
	p.node.publish()
}
