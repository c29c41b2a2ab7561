package inject

import (
	"cmp"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/sidecar/probes"
)

const variableProbes = "WEFT_PROBES"

// injectedProbes are those that the sidecar of a pod answers for; port 0 where it answers
// for none.
func injectedProbes(pod *corev1.Pod) probes.Set {
	for _, c := range containers(pod) {
		for _, e := range c.Env {
			if c.Name == SidecarContainer && e.Name == variableProbes {
				set, err := probes.Parse(e.Value)
				if err != nil {
					return probes.Set{} // it was changed; the agent says so
				}
				return set
			}
		}
	}
	return probes.Set{}
}

func injectedProbePort(pod *corev1.Pod) int { return injectedProbes(pod).Port }

// asked is what the kubelet asks of a container at a port: by a probe, or by a hook.
type asked struct {
	kind    string // its name in a set
	field   api.Path
	handler corev1.ProbeHandler
	timeout int32
	rewrite func(corev1.HTTPGetAction)
}

// hookTimeout is how long a hook may take: the kubelet bounds preStop by the time that the pod has to end,
// and postStart by nothing.
const hookTimeout = 3600

// askedOf are the probes and hooks of a container.
func askedOf(c *corev1.Container) (out []asked) {
	for _, one := range []struct {
		kind  string
		field api.Path
		probe *corev1.Probe
	}{
		{probes.Liveness, "livenessProbe", c.LivenessProbe},
		{probes.Readiness, "readinessProbe", c.ReadinessProbe},
		{probes.Startup, "startupProbe", c.StartupProbe},
	} {
		if p := one.probe; p != nil {
			out = append(out, asked{one.kind, one.field, p.ProbeHandler, p.TimeoutSeconds, func(to corev1.HTTPGetAction) { p.ProbeHandler = corev1.ProbeHandler{HTTPGet: &to} }})
		}
	}
	if c.Lifecycle == nil {
		return out
	}
	for _, one := range []struct {
		kind  string
		field api.Path
		hook  *corev1.LifecycleHandler
	}{{probes.PostStart, "lifecycle.postStart", c.Lifecycle.PostStart}, {probes.PreStop, "lifecycle.preStop", c.Lifecycle.PreStop}} {
		if h := one.hook; h != nil && h.HTTPGet != nil { // a TCP socket is no hook, though it can be written
			out = append(out, asked{one.kind, one.field, corev1.ProbeHandler{HTTPGet: h.HTTPGet}, hookTimeout, func(to corev1.HTTPGetAction) { h.HTTPGet = &to }})
		}
	}
	return out
}

// port is where a handler asks in the pod, in which field it says so; nil where it asks nothing there.
func (a *asked) port() (at api.Path, port *intstr.IntOrString) {
	switch h := a.handler; {
	case h.HTTPGet != nil && h.HTTPGet.Host == "":
		return a.field.Field("httpGet.port"), &h.HTTPGet.Port
	case h.TCPSocket != nil && h.TCPSocket.Host == "":
		return a.field.Field("tcpSocket.port"), &h.TCPSocket.Port
	case h.GRPC != nil:
		return a.field.Field("grpc.port"), new(intstr.FromInt32(h.GRPC.Port))
	}
	return "", nil
}

// atAgent reports whether it asks the sidecar already.
func (a *asked) atAgent(container string, port int) bool {
	h := a.handler.HTTPGet
	return h != nil && h.Host == "" && h.Path == probes.Path(probes.Name(container, a.kind)) && h.Port.IntValue() == port
}

// rewriteProbes lets the sidecar answer for the probes and hooks of all other containers that
// run beside it, and adds to set what it has to ask: through Envoy a connection would always
// succeed, limits would count probes, and strict TLS refuse the kubelet. Warnings have
// paths in the pod as it was written.
func rewriteProbes(pod, asWritten *corev1.Pod, set probes.Set) (probes.Set, []*api.Violation) {
	set.Probes = maps.Clone(set.Probes)
	at := map[string]api.Path{}
	for _, c := range containers(asWritten) {
		at[c.Name] = c.at
	}
	var warnings []*api.Violation
	for _, c := range containers(pod) {
		restarts := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if strings.HasPrefix(c.Name, reservedPrefix) || c.init && (!restarts || isClassic(pod)) {
			continue
		}
		for _, one := range askedOf(c.Container) {
			name := probes.Name(c.Name, one.kind)
			original, found, problem := originalOf(c, &one, set.Port)
			if problem != "" {
				warnings = append(warnings, at[c.Name].Field(string(one.field)).Warns("ProbeKept", "%s, so the probe stays as it is; declare the port or write its number", problem))
			}
			if !found {
				continue
			}
			if one.kind == probes.PostStart && startsUnasked(pod) {
				warnings = append(warnings, at[c.Name].Field(string(one.field)).Warns("HookKept", "the container may start before its sidecar, so the hook stays as it is, and where mutual TLS is Strict "+
					"the sidecar refuses it, which ends the container; use exec, or leave out kuma.io/wait-for-dataplane-ready"))
				continue
			}
			if set.Probes == nil {
				set.Probes = map[string]probes.Probe{}
			}
			set.Probes[name] = original
			one.rewrite(corev1.HTTPGetAction{Path: probes.Path(name), Port: intstr.FromInt32(int32(set.Port))})
		}
	}
	return set, warnings
}

// startsUnasked reports whether the containers of a pod start without waiting for its sidecar.
func startsUnasked(pod *corev1.Pod) bool {
	c := sidecarOf(pod)
	return isClassic(pod) && (c.Lifecycle == nil || c.Lifecycle.PostStart == nil)
}

// originalOf is a probe as the agent asks it. Found is false for one that stays: exec,
// one that asks another host, or one that asks the agent already; a problem says why one
// cannot be understood.
func originalOf(c located, p *asked, port int) (out probes.Probe, found bool, problem string) {
	out.TimeoutSeconds = int(cmp.Or(p.timeout, 1))
	at := func(given intstr.IntOrString) int {
		n, ok := portOf(c.Container, given)
		if !ok {
			problem = "the container declares no port " + redact.Clip(given.String())
		}
		return n
	}
	switch h := p.handler; {
	case p.atAgent(c.Name, port):
		return out, false, ""
	case h.HTTPGet != nil && h.HTTPGet.Host == "":
		out.HTTP = &probes.HTTP{Scheme: cmp.Or(string(h.HTTPGet.Scheme), "HTTP"), Port: at(h.HTTPGet.Port), Path: "/" + strings.TrimPrefix(h.HTTPGet.Path, "/")}
		for _, header := range h.HTTPGet.HTTPHeaders {
			out.HTTP.Headers = append(out.HTTP.Headers, probes.Header{Name: header.Name, Value: header.Value})
		}
	case h.TCPSocket != nil && h.TCPSocket.Host == "":
		out.TCP = &probes.TCP{Port: at(h.TCPSocket.Port)}
	case h.GRPC != nil:
		out.GRPC = &probes.GRPC{Port: int(h.GRPC.Port)}
		if h.GRPC.Service != nil {
			out.GRPC.Service = *h.GRPC.Service
		}
	default:
		return out, false, ""
	}
	return out, problem == "", problem
}

// portOf is the number of a port that may be written by its name in the container.
func portOf(c *corev1.Container, given intstr.IntOrString) (int, bool) {
	if given.Type == intstr.Int {
		return int(given.IntVal), given.IntVal > 0 && given.IntVal < 1<<16
	}
	for _, p := range c.Ports {
		if p.Name == given.StrVal && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
			return int(p.ContainerPort), true
		}
	}
	return 0, false
}
