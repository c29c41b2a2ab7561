package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sliced is the label of slices that the test made.
const sliced = "conformance.weft.io/sliced"

// pod is a pod that runs: the echo server in a network namespace.
type pod struct {
	object  *corev1.Pod
	address string
	process *exec.Cmd
}

func (p *pod) stop() {
	_ = p.process.Process.Kill() // it may be gone already
	_ = p.process.Wait()
}

// runPod makes and starts the n-th pod of a Deployment, if it does not run yet.
func (c *cluster) runPod(ctx context.Context, d *appsv1.Deployment, n int) (string, error) {
	name := fmt.Sprintf("%s-5c9d7-%d", d.Name, n) // as a ReplicaSet names them: the tests cut two words off
	key := d.Namespace + "/" + name
	if c.pods[key] != nil {
		return key, nil
	}
	o := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	o.Name, o.Namespace, o.Spec.NodeName = name, d.Namespace, "node"
	if err := c.c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return key, err
	}
	p := &pod{object: o, address: fmt.Sprintf("10.244.1.%d", c.next())}
	if err := c.start(ctx, p); err != nil {
		return key, fmt.Errorf("pod %s: %w", key, err)
	}
	c.pods[key] = p
	o.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: p.address, PodIPs: []corev1.PodIP{{IP: p.address}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}}
	return key, c.c.Status().Update(ctx, o)
}

func (c *cluster) next() byte {
	c.last++
	return c.last + 1
}

// start runs the echo server, and connects its namespace to the bridge.
func (c *cluster) start(ctx context.Context, p *pod) error {
	env, err := c.environment(ctx, p.object)
	if err != nil {
		return err
	}
	p.process = exec.Command(os.Getenv("ECHO_BASIC"))
	p.process.Env = env
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.process.Stdout, p.process.Stderr = w, w
	defer w.Close()
	go func() {
		defer r.Close()
		c.logs.keep(p.object.Namespace+"/"+p.object.Name, r)
	}()
	p.process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := p.process.Start(); err != nil {
		return err
	}
	pid, link := strconv.Itoa(p.process.Process.Pid), fmt.Sprintf("pod%d", c.last)
	for _, line := range []string{
		"ip link add " + link + " type veth peer name eth0 netns " + pid,
		"ip link set " + link + " master pods up",
		"nsenter -n -t " + pid + " ip link set lo up",
		"nsenter -n -t " + pid + " ip link set eth0 up",
		"nsenter -n -t " + pid + " ip addr add " + p.address + "/16 dev eth0",
		"nsenter -n -t " + pid + " ip route add default via 10.244.0.1",
	} {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			p.stop()
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	return nil
}

// environment is that of the pod's container, with the files of Secrets where the host has
// them.
func (c *cluster) environment(ctx context.Context, o *corev1.Pod) ([]string, error) {
	container := o.Spec.Containers[0]
	dirs := map[string]string{} // by where the container has them
	for _, v := range o.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		var s corev1.Secret
		if err := c.c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: v.Secret.SecretName}, &s); err != nil {
			return nil, err
		}
		dir := filepath.Join(c.plane.dir, "secrets", o.Namespace, v.Secret.SecretName)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for _, item := range v.Secret.Items {
			if err := os.WriteFile(filepath.Join(dir, item.Path), s.Data[item.Key], 0o600); err != nil {
				return nil, err
			}
		}
		for _, m := range container.VolumeMounts {
			if m.Name == v.Name {
				dirs[m.MountPath] = dir
			}
		}
	}
	var env []string
	for _, e := range container.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.FieldRef != nil {
			value = map[string]string{"metadata.name": o.Name, "metadata.namespace": o.Namespace}[from.FieldRef.FieldPath]
		}
		for path, dir := range dirs {
			if rest, ok := strings.CutPrefix(value, path); ok {
				value = dir + rest
			}
		}
		env = append(env, e.Name+"="+value)
	}
	return env, nil
}

// sliceOf keeps the slice of a Service.
func (c *cluster) sliceOf(ctx context.Context, s *corev1.Service) error {
	want := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: s.Name + "-pods", Namespace: s.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name, sliced: "true"}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, port := range s.Spec.Ports {
		target := port.Port
		if port.TargetPort.Type == intstr.Int && port.TargetPort.IntVal > 0 {
			target = port.TargetPort.IntVal
		}
		want.Ports = append(want.Ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &target, Protocol: &port.Protocol, AppProtocol: port.AppProtocol})
	}
	for _, p := range c.pods {
		if p.object.Namespace == s.Namespace && selects(s.Spec.Selector, p.object.Labels) {
			ready := true
			want.Endpoints = append(want.Endpoints, discoveryv1.Endpoint{Addresses: []string{p.address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: s.Namespace, Name: p.object.Name}})
		}
	}
	var have discoveryv1.EndpointSlice
	err := c.c.Get(ctx, client.ObjectKeyFromObject(want), &have)
	switch {
	case apierrors.IsNotFound(err):
		return c.c.Create(ctx, want)
	case err != nil:
		return err
	case len(have.Endpoints) == len(want.Endpoints) && len(have.Ports) == len(want.Ports):
		return nil
	}
	have.Endpoints, have.Ports = want.Endpoints, want.Ports
	return c.c.Update(ctx, &have)
}

func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}
